#pragma once

#include "core/random.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {

inline constexpr int64_t kVocab = 61;

/// For every kernel; `after`: norms, and what comes with them.
inline ModelConfig config_of(bool after) {
  ModelConfig config = small_config();
  config.hidden_size = 96;
  config.intermediate_size = 300;  // more than a block's threads
  config.num_heads = 6;
  config.num_kv_heads = 2;
  config.head_dim = 24;
  config.windows = {0, 19};
  config.qk_norm = after ? QkNorm::kWidth : QkNorm::kHead;
  config.norm_after = config.norm_scales_wide = after;
  config.qkv_bias = config.o_bias = true;
  config.mlp_bias = after;
  config.rope.attention_factor = 1.1;
  config.tie_word_embeddings = false;
  config.initializer_range = 0.1;
  config.max_positions = 200;
  return config;
}

inline TokenIds some_tokens(int64_t count, uint64_t seed = 1) {
  Random random(seed, "tokens");
  TokenIds tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(random.below(static_cast<uint64_t>(kVocab))));
  }
  return tokens;
}

inline void randomise(Transformer& model) {
  for (auto& [name, weight] : model.named_weights()) {
    if (name.ends_with("bias")) at::Tensor(weight).copy_(normal(weight.sizes(), 5) * 0.2);
    if (name.find("norm") != std::string::npos) {
      at::Tensor(weight).copy_(1 + normal(weight.sizes(), 6) * 0.2);
    }
  }
}

}  // namespace predgen
