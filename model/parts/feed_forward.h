#pragma once

#include <ATen/ATen.h>

#include <array>

#include "model/linear.h"
#include "model/parts/layer_weights.h"

namespace predgen {

/// A gated MLP: down(activated(gate(x), up(x))). Keeps nothing of a sequence.
class FeedForward {
 public:
  /// Adds the weights that a checkpoint has for it, in the order of the reference's state dict.
  static void add_weights(const ModelConfig& config, const FeedForwardSpec& spec, LayerWeights& to);
  FeedForward(const FeedForwardSpec& spec, const LayerSource& source);

  /// [..,E] to [..,E], E hidden size. `adapter_gate`: the gate of Linear.
  at::Tensor operator()(const at::Tensor& input, const at::Tensor& adapter_gate) const;

  std::array<Linear*, 3> linears() { return {&gate, &up, &down}; }
  std::array<const Linear*, 3> linears() const { return {&gate, &up, &down}; }

  FeedForwardSpec spec;
  Linear gate, up, down;
};

}  // namespace predgen
