#pragma once

#include <ATen/core/grad_mode.h>

#include <memory>

#include "model/transformer.h"

namespace predgen {

/// Grouped-query attention, tied head, weights large enough that outputs vary.
inline ModelConfig small_config() {
  ModelConfig config;
  config.architecture = "Qwen2ForCausalLM";
  config.vocab_size = 61;
  config.hidden_size = 32;
  config.intermediate_size = 48;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 8;
  config.max_positions = 128;
  config.initializer_range = 0.3;
  config.tie_word_embeddings = true;
  config.layers.assign(2, {.attention = {.qkv_bias = true}});
  return config;
}

inline std::unique_ptr<Transformer> small_model(uint64_t seed = 1) {
  return Transformer::initialize(small_config(), seed, at::kFloat);
}

/// Logits of some tokens.
inline at::Tensor probe(const Transformer& model) {
  const at::NoGradGuard no_grad;
  return model.logits(model.hidden_states(at::arange(20, at::kLong).view({2, 10})));
}

/// Smaller still, to be trained.
inline ModelConfig tiny_config() {
  ModelConfig config = small_config();
  config.vocab_size = 40;
  config.hidden_size = 16;
  config.intermediate_size = 24;
  config.num_heads = 2;
  config.num_kv_heads = 1;
  config.max_positions = 64;
  return config;
}

inline std::unique_ptr<Transformer> tiny_model(at::ScalarType type = at::kFloat) {
  return Transformer::initialize(tiny_config(), 3, at::TensorOptions(type));
}

}  // namespace predgen
