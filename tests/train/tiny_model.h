#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "model/transformer.h"

namespace predgen {

inline ModelConfig tiny_config() {
  ModelConfig config;
  config.architecture = "Qwen2ForCausalLM";
  config.vocab_size = 40;
  config.hidden_size = 16;
  config.intermediate_size = 24;
  config.num_layers = 2;
  config.num_heads = 2;
  config.num_kv_heads = 1;
  config.head_dim = 8;
  config.max_positions = 64;
  config.initializer_range = 0.3;  // far from uniform outputs
  config.tie_word_embeddings = true;
  config.qkv_bias = true;
  return config;
}

inline std::unique_ptr<Transformer> tiny_model(at::ScalarType type = at::kFloat) {
  return Transformer::initialize(tiny_config(), 3, at::TensorOptions(type));
}

/// An empty folder of the running test.
inline std::filesystem::path test_folder() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                       (std::string("predgen_") + info->test_suite_name() + "_" +
                                        info->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace predgen
