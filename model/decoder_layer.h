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

/// Cosines and sines that rotate queries and keys to their positions, [B,1,T,D]; the sines for the
/// second half of a head carry the minus sign of the rotation.
struct Rotation {
  /// `inverse_frequencies`: from RopeConfig, on the device of the positions.
  Rotation(const RopeConfig& rope, const at::Tensor& inverse_frequencies,
           const at::Tensor& positions_BT, at::ScalarType type);
  at::Tensor cos, signed_sin;
};
/// One for each BlockSpec::rope_at(). `inverse_frequencies`: from BlockSpec, on the device of the
/// positions.
std::vector<Rotation> make_rotations(const BlockSpec& block, const at::Tensor& inverse_frequencies,
                                     const at::Tensor& positions_BT, at::ScalarType type);

/// A sequence's new tokens within a pass, and the keys they see.
struct CachedRows {
  KvCache* cache;
  int64_t num_new;
  AttentionMasks masks;
  /// In a width-invariant pass over a tree, for each new token: the places of the keys that it
  /// sees, in order. Empty: all up to its own.
  std::vector<at::Tensor> paths{};
};

/// RMSNorm over the last dimension, as the family computes it; `input` itself if `weight` is
/// undefined. `width_invariant`: see Transformer::set_width_invariant().
at::Tensor rms_norm(const ModelConfig& config, const at::Tensor& input, const at::Tensor& weight,
                    bool width_invariant = false);

/// Norms of the input and output of attention or the MLP, [E]; undefined if BlockSpec has none.
struct NormPair {
  at::Tensor before, after;
};

/// One layer of a Transformer: attention and a gated MLP, each normed as ModelConfig::block says
/// and added to its input. Takes the rotations of all kinds of layers and uses its own.
struct DecoderLayer {
  DecoderLayer(const ModelConfig& config, int64_t index, const WeightByName& weight);

  /// Runs whole rows without a cache, [B,T,E] to [B,T,E]. `mask`: from AttentionMasks, for
  /// `window`; `gate_BT1`: the gate of Linear, here and below.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                        std::span<const Rotation> rotations, const at::Tensor& mask,
                        const at::Tensor& gate_BT1 = {}) const;
  /// Runs the concatenated new tokens of several sequences, [1,T,E] to [1,T,E]; appends them to
  /// their caches without committing.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_1TE,
                        std::span<const Rotation> rotations, std::span<CachedRows> sequences,
                        const at::Tensor& gate_1T1 = {}) const;

  std::array<Linear*, 7> linears() { return {&q, &k, &v, &o, &gate, &up, &down}; }
  std::array<const at::Tensor*, 6> norms() const {
    return {&attention_norm.before,
            &attention_norm.after,
            &mlp_norm.before,
            &mlp_norm.after,
            &q_norm,
            &k_norm};
  }
  /// The norms that the layer has, by name.
  std::map<std::string, at::Tensor> named_norms(const ModelConfig& config) const;

  int64_t index;
  NormPair attention_norm, mlp_norm;
  at::Tensor q_norm, k_norm;  // undefined without BlockSpec::qk_norm
  Linear q, k, v, o, gate, up, down;
  int64_t window = 0;            // positions that a query sees, its own included; 0: all
  int64_t rope = 0;              // BlockSpec::rope_of()
  bool width_invariant = false;  // see Transformer::set_width_invariant()

 private:
  /// Queries [B,H,T,D], keys and values [B,G,T,D] to the concatenated heads' outputs, [B,T,H*D].
  using Attend = std::function<at::Tensor(const at::Tensor& queries, const at::Tensor& keys,
                                          const at::Tensor& values)>;
  at::Tensor run(const ModelConfig& config, const at::Tensor& hidden_BTE, const Rotation& rotation,
                 const at::Tensor& gate_BT1, const Attend& attend) const;
};

}  // namespace predgen
