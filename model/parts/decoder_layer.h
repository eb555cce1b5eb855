#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/model_config.h"
#include "model/parts/attention.h"
#include "model/parts/experts.h"
#include "model/parts/feed_forward.h"
#include "model/parts/layer_inputs.h"
#include "model/parts/recurrent_part.h"

namespace predgen {

// Shapes: B rows, T new tokens, E hidden size.

/// Norms of the input and output of a part, [E]; undefined if the layer has none.
struct NormPair {
  at::Tensor before, after;
};

/// One layer of a Transformer: its parts (LayerSpec), each normed and added to its input. Takes the
/// rotations of all kinds of layers; a part uses its own.
class DecoderLayer {
 public:
  /// Appends the layer's weights in the order of the reference's state dict.
  static void add_weights(const ModelConfig& config, int64_t index,
                          std::vector<WeightSpec>& weights);
  DecoderLayer(const ModelConfig& config, int64_t index, const WeightByName& weight);

  /// Runs whole rows without a cache, [B,T,E] to [B,T,E]. `mask`: from AttentionMasks, for
  /// window(); Error if a layer that keeps a state gets one. `gate_BT1`: the gate of Linear, here
  /// and below. `side`: of the model, if ModelConfig::has_side_inputs().
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                        std::span<const Rotation> rotations, const at::Tensor& mask,
                        const at::Tensor& gate_BT1 = {}, SideInputs* side = nullptr) const;
  /// Runs the concatenated new tokens of several sequences, [1,T,E] to [1,T,E]; adds them to their
  /// states without committing.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_1TE,
                        std::span<const Rotation> rotations, std::span<CachedRows> sequences,
                        const at::Tensor& gate_1T1 = {},
                        const at::Tensor& layer_inputs_1TLP = {}) const;

  /// Positions that attention sees; 0: all.
  int64_t window() const { return attention ? attention->spec.window : 0; }
  /// What is trained, merged and packed, in the order of the reference's state dict.
  std::vector<Linear*> linears();
  /// What the layer has beside linears(), by name.
  NamedTensors named_others() const;

  NormPair attention_norm, mlp_norm;  // also of experts in place of an MLP
  // Of experts beside an MLP, and of what that MLP makes, [E].
  NormPair experts_norm;
  at::Tensor norm_after_mlp_alone;
  std::optional<Attention> attention;  // or
  std::unique_ptr<RecurrentPart> recurrence;
  std::optional<FeedForward> feed_forward;  // or
  std::optional<Experts> experts;           // or both
  std::optional<LayerInput> layer_input;
  at::Tensor output_scale;  // [1]; undefined: 1

 private:
  DecoderLayer(const ModelConfig& config, int64_t index, const LayerSource& source);
  at::Tensor add_feed_forward(const ModelConfig& config, const at::Tensor& hidden_BTE,
                              const at::Tensor& mixed_BTE, const at::Tensor& gate_BT1,
                              const at::Tensor& layer_inputs_BTLP) const;

  int64_t index_;
  int64_t place_;  // among the layers that keep the same
  LayerNorms names_;
};

}  // namespace predgen
