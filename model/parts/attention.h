#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/attention_masks.h"
#include "model/language_model.h"
#include "model/linear.h"
#include "model/parts/layer_weights.h"
#include "model/parts/operators.h"
#include "model/rope.h"
#include "model/sequence_state.h"

namespace predgen {

// Shapes: B rows, T new tokens, S cached plus new, H heads, G key/value heads, D head size,
// E hidden size.

/// A sequence's new tokens within a pass, and the keys they see.
struct CachedRows {
  SequenceState* state;
  int64_t num_new;
  AttentionMasks masks;
  const RowsOfAnother* read = nullptr;  // SequenceStep's
  /// What layers that keep a state find, at snapshot_points(); of a tree, its tree_parents().
  std::vector<NewStates> points{};
  std::vector<int64_t> parents{};
};

/// Grouped-query attention with rotary positions. Keeps a row of keys and values of every position
/// of a sequence.
class Attention {
 public:
  /// Adds the weights that a checkpoint has for it, in the order of the reference's state dict.
  static void add_weights(const ModelConfig& config, const AttentionSpec& spec, LayerWeights& to);
  /// `place`: among the layers that keep rows.
  Attention(const AttentionSpec& spec, int64_t place, const LayerSource& source);

  /// Runs whole rows without a cache, [B,T,E] to [B,T,E]. `mask`: from AttentionMasks, for the
  /// window; `gate_BT1`: the gate of Linear, here and below. `shared` may be null if no layer of
  /// the model shares.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& input_BTE,
                        std::span<const Rotation> rotations, const at::Tensor& mask,
                        const at::Tensor& gate_BT1, SharedRows* shared) const;
  /// Runs the concatenated new tokens of several sequences, [1,T,E] to [1,T,E]; appends them to
  /// their caches without committing.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& input_1TE,
                        std::span<const Rotation> rotations, std::span<CachedRows> sequences,
                        const at::Tensor& gate_1T1) const;

  std::vector<Linear*> linears();
  std::vector<const Linear*> linears() const;
  std::array<const at::Tensor*, 2> norms() const { return {&q_norm, &k_norm}; }
  void add_others(NamedTensors& to) const;  // norms and sinks, by name

  AttentionSpec spec;
  int64_t layer;              // of the model
  int64_t place;              // among the layers that keep rows
  at::Tensor q_norm, k_norm;  // undefined without AttentionSpec::qk_norm
  at::Tensor sinks;           // [H], undefined without AttentionSpec::sinks
  Linear q, k, v, o;          // k and v are empty where the spec has none

 private:
  /// Queries [B,H,T,D], keys and values [B,G,T,D] to the concatenated heads' outputs, [B,T,H*D].
  using Attend = std::function<at::Tensor(const at::Tensor& queries, const at::Tensor& keys,
                                          const at::Tensor& values)>;
  at::Tensor run(const ModelConfig& config, const at::Tensor& input_BTE, const Rotation& rotation,
                 const at::Tensor& gate_BT1, const Attend& attend) const;
};

}  // namespace predgen
