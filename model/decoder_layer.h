#pragma once

#include <ATen/ATen.h>

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/attention_masks.h"
#include "model/kv_cache.h"
#include "model/linear.h"
#include "model/model_config.h"

namespace predgen {

// Shapes: B rows, T new tokens, S cached plus new, H heads, G key/value heads, D head size,
// E hidden size.

/// A tensor by its Hugging Face name; undefined if the model has none of that name.
using WeightByName = std::function<at::Tensor(const std::string& name)>;

/// Cosines and sines that turn queries and keys to their positions, [B,1,T,D]; the sines that the
/// second half of a head is multiplied by have the minus of the rotation.
struct Rotation {
  /// `inverse_frequencies`: RopeConfig's, on the device of the positions.
  Rotation(const RopeConfig& rope, const at::Tensor& inverse_frequencies,
           const at::Tensor& positions_BT, at::ScalarType type);
  at::Tensor cos, signed_sin;
};

/// A sequence's new tokens within a pass, and what they see.
struct CachedRows {
  KvCache* cache;
  int64_t num_new;
  AttentionMasks masks;
  /// Of a width-invariant pass over a tree, for each new token: the places of the keys that it
  /// sees, in their order. Empty: all up to its own.
  std::vector<at::Tensor> paths{};
};

/// RMSNorm over the last dimension, as the family computes it. `width_invariant`: see
/// Transformer::set_width_invariant().
at::Tensor rms_norm(const ModelConfig& config, const at::Tensor& input, const at::Tensor& weight,
                    bool width_invariant = false);

/// One layer of a Transformer: attention and SwiGLU, each with its norm and added to its input.
struct DecoderLayer {
  DecoderLayer(const ModelConfig& config, int64_t index, const WeightByName& weight);

  /// Rows that stand for themselves, [B,T,E] to [B,T,E]. `mask`: AttentionMasks' for `window`.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                        const Rotation& rotation, const at::Tensor& mask) const;
  /// New tokens of several sequences one after the other, [1,T,E] to [1,T,E]; appended to their
  /// caches, not committed.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_1TE,
                        const Rotation& rotation, std::span<CachedRows> sequences) const;

  std::array<Linear*, 7> linears() { return {&q, &k, &v, &o, &gate, &up, &down}; }
  /// The norms by their names.
  std::map<std::string, at::Tensor> norms(const ModelConfig& config) const;

  int64_t index;
  at::Tensor attention_norm, mlp_norm;  // [E]; before or after, as ModelConfig::norm_after says
  at::Tensor q_norm, k_norm;            // undefined without ModelConfig::qk_norm
  Linear q, k, v, o, gate, up, down;
  int64_t window = 0;            // positions that a query sees, its own included; 0: all
  bool width_invariant = false;  // see Transformer::set_width_invariant()

 private:
  /// Queries [B,H,T,D], keys and values [B,G,T,D] to what the heads took together, [B,T,H*D].
  using Attend = std::function<at::Tensor(const at::Tensor& queries, const at::Tensor& keys,
                                          const at::Tensor& values)>;
  at::Tensor run(const ModelConfig& config, const at::Tensor& hidden_BTE, const Rotation& rotation,
                 const Attend& attend) const;
};

}  // namespace predgen
