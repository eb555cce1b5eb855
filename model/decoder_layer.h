#pragma once

#include <ATen/ATen.h>

#include <array>
#include <functional>
#include <map>
#include <string>

#include "model/kv_cache.h"
#include "model/linear.h"
#include "model/model_config.h"

namespace predgen {

// Shapes: B rows, T new tokens, S cached plus new, H heads, D head size, E hidden size.

/// A tensor by its Hugging Face name; undefined if the model has none of that name.
using WeightByName = std::function<at::Tensor(const std::string& name)>;

/// Cosines and sines that turn queries and keys to their positions, [B,1,T,D].
struct Rotation {
  /// `inverse_frequencies`: RopeConfig's, on the device of the positions.
  Rotation(const RopeConfig& rope, const at::Tensor& inverse_frequencies,
           const at::Tensor& positions_BT, at::ScalarType type);
  at::Tensor cos, sin;
};

/// RMSNorm over the last dimension, as the family computes it.
at::Tensor rms_norm(const ModelConfig& config, const at::Tensor& input, const at::Tensor& weight);

/// One layer of a Transformer: attention and SwiGLU, each with its norm and added to its input.
struct DecoderLayer {
  DecoderLayer(const ModelConfig& config, int64_t index, const WeightByName& weight);

  /// [B,T,E] to [B,T,E]. `mask`: AttentionMasks' for `window`. `cache`: null for none.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                        const Rotation& rotation, const at::Tensor& mask, KvCache* cache) const;

  std::array<Linear*, 7> linears() { return {&q, &k, &v, &o, &gate, &up, &down}; }
  /// The norms by their names.
  std::map<std::string, at::Tensor> norms(const ModelConfig& config) const;

  int64_t index;
  at::Tensor attention_norm, mlp_norm;  // [E]; before or behind, as ModelConfig::norm_after says
  at::Tensor q_norm, k_norm;            // undefined without ModelConfig::qk_norm
  Linear q, k, v, o, gate, up, down;
  int64_t window = 0;  // positions that a query sees, its own included; 0: all

 private:
  at::Tensor attention(const ModelConfig& config, const at::Tensor& input_BTE,
                       const Rotation& rotation, const at::Tensor& mask, KvCache* cache) const;
};

}  // namespace predgen
