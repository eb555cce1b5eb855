#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {

/// Blocks of Llama's, OLMo 2's and Gemma's kind.
enum class Kind { kNormBefore, kNormAfter, kGemma };
inline constexpr Kind kKinds[] = {Kind::kNormBefore, Kind::kNormAfter, Kind::kGemma};

inline std::string kind_name(const testing::TestParamInfo<Kind>& test) {
  static const char* const names[] = {"NormBefore", "NormAfter", "Gemma"};
  return names[static_cast<size_t>(test.param)];
}

/// Of two layers; only the second has a window, and positions that turn faster.
inline BlockSpec gemma_block(int64_t hidden_size) {
  BlockSpec block;
  block.activation = Activation::kGeluTanh;
  block.norm_after = block.norm_scales_wide = true;
  block.norm_offset = 1.0;
  block.qk_norm = QkNorm::kHead;
  block.query_scalar = 20.0;
  block.embedding_scale = std::sqrt(static_cast<double>(hidden_size));
  block.rope.theta = 1e6;
  block.other_rope = RopeConfig{.theta = 100.0};
  block.other_rope_layers = {false, true};
  block.windows = {0, 7};
  return block;
}

inline BlockSpec block_of(Kind kind, int64_t hidden_size) {
  if (kind == Kind::kGemma) return gemma_block(hidden_size);
  BlockSpec block;
  const bool after = kind == Kind::kNormAfter;
  block.qk_norm = after ? QkNorm::kWidth : QkNorm::kHead;
  block.norm_before = !after;
  block.norm_after = block.norm_scales_wide = after;
  return block;
}

/// Llama's block with one of BlockSpec::switches() on, for each of them, by its name.
inline std::vector<std::pair<std::string, BlockSpec>> one_switch_each() {
  // Does not compile when BlockSpec has another field, which then needs a switch here.
  [[maybe_unused]] const auto& [activation, norm_before, norm_after, norm_offset, norm_scales_wide,
                                qk_norm, qkv_bias, o_bias, mlp_bias, query_scalar,
                                attention_softcap, logit_softcap, embedding_scale, rope, other_rope,
                                other_rope_layers, windows] = BlockSpec{};
  std::vector<std::pair<std::string, BlockSpec>> specs;
  const auto add = [&](const char* name, auto change) {
    BlockSpec block;
    change(block);
    specs.emplace_back(name, block);
  };
  add("gelu_tanh", [](BlockSpec& block) { block.activation = Activation::kGeluTanh; });
  add("no norm_before", [](BlockSpec& block) { block.norm_before = false; });
  add("norm_after", [](BlockSpec& block) { block.norm_after = true; });
  add("norm_offset", [](BlockSpec& block) { block.norm_offset = 1.0; });
  add("norm_scales_wide", [](BlockSpec& block) { block.norm_scales_wide = true; });
  add("qk_norm by head", [](BlockSpec& block) { block.qk_norm = QkNorm::kHead; });
  add("qk_norm by width", [](BlockSpec& block) { block.qk_norm = QkNorm::kWidth; });
  add("qkv_bias", [](BlockSpec& block) { block.qkv_bias = true; });
  add("o_bias", [](BlockSpec& block) { block.o_bias = true; });
  add("mlp_bias", [](BlockSpec& block) { block.mlp_bias = true; });
  add("query_scalar", [](BlockSpec& block) { block.query_scalar = 50.0; });
  add("attention_softcap", [](BlockSpec& block) { block.attention_softcap = 0.5; });
  add("logit_softcap", [](BlockSpec& block) { block.logit_softcap = 1.0; });
  add("embedding_scale", [](BlockSpec& block) { block.embedding_scale = 5.0; });
  add("other_rope", [](BlockSpec& block) {
    block.other_rope = RopeConfig{.theta = 100.0};
    block.other_rope_layers = {false, true};
  });
  add("windows", [](BlockSpec& block) { block.windows = {0, 19}; });
  return specs;
}

/// Biases and norms that do something; `norms`: their mean, as it is stored.
inline void randomise(Transformer& model, double norms) {
  for (auto& [name, weight] : model.named_weights()) {
    if (name.ends_with("bias")) at::Tensor(weight).copy_(normal(weight.sizes(), 5) * 0.2);
    if (name.find("norm") != std::string::npos) {
      at::Tensor(weight).copy_(norms + normal(weight.sizes(), 6) * 0.2);
    }
  }
}

inline void randomise(Transformer& model) {
  randomise(model, 1.0 - model.config().block.norm_offset);
}

/// Stores the same, whatever the block adds to it.
inline std::unique_ptr<Transformer> make_with(const BlockSpec& block) {
  ModelConfig config = small_config();
  config.block = block;
  auto model = Transformer::initialize(config, 1, at::kFloat);
  randomise(*model, 1.0);
  return model;
}

}  // namespace predgen
