#pragma once

#include "core/random.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {

inline constexpr int64_t kVocab = 61;

/// For every kernel.
inline ModelConfig config_of(Kind kind) {
  ModelConfig config = small_config();
  config.hidden_size = 96;
  config.intermediate_size = 304;  // more than a block's threads
  config.num_heads = 6;
  config.num_kv_heads = 2;
  config.head_dim = 24;
  make_kind(config, kind);
  set_windows(config, {0, 19});
  for (LayerSpec& layer : config.layers) {
    layer.attention.qkv_bias = layer.attention.o_bias = true;
    layer.feed_forward.bias = kind == Kind::kNormAfter;
  }
  config.ropes.front().attention_factor = 1.1;
  config.tie_word_embeddings = false;
  config.initializer_range = 0.1;
  config.max_positions = 200;
  return config;
}

inline TokenIds kernel_tokens(int64_t count, uint64_t seed = 1) {
  Random random(seed, "tokens");
  TokenIds tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(random.below(static_cast<uint64_t>(kVocab))));
  }
  return tokens;
}

}  // namespace predgen
