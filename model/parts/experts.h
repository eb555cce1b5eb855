#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "model/linear.h"
#include "model/parts/feed_forward.h"
#include "model/parts/layer_weights.h"

namespace predgen {

// Shapes: T tokens, E hidden size, X experts, K of them chosen.

/// A mixture of experts: a router chooses K of X gated MLPs for each token, whose outputs are
/// summed with weights (Shazeer et al. 2017, arXiv 1701.06538). An expert runs only for tokens that
/// chose it. Keeps nothing of a sequence. Chosen alike in every pass: a token's result does not
/// depend on the others.
class Experts {
 public:
  /// Adds the weights that a checkpoint has for it, in the order of the reference's state dict.
  static void add_weights(const ModelConfig& config, const ExpertsSpec& spec, LayerWeights& to);
  Experts(const ExpertsSpec& spec, const LayerSource& source);

  /// [..,E] to [..,E]. `routed`: what the router sees, the input itself unless the experts are
  /// beside an MLP. `adapter_gate`: the gate of Linear.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& input,
                        const at::Tensor& routed, const at::Tensor& adapter_gate) const;

  struct Choice {
    at::Tensor experts_TK;  // int64, by falling weight
    at::Tensor weights_TK;  // float32
  };
  Choice choose(const ModelConfig& config, const at::Tensor& routed_TE) const;

  /// What is trained, merged and packed, in the order of the reference's state dict: experts and
  /// the shared expert. Routers stay as they are, as in PEFT.
  std::vector<Linear*> linears();
  /// All other weights that it has, by name.
  void add_others(NamedTensors& to) const;

  struct Expert {
    Linear gate, up, down;
  };
  ExpertsSpec spec;
  int64_t layer;  // of the model
  std::vector<Expert> all;
  Linear router;                         // never packed
  at::Tensor score_bias;                 // [X] float32
  at::Tensor input_scale, expert_scale;  // [E], [X]
  std::optional<FeedForward> shared;
  Linear share;  // [1,E], never packed
};

}  // namespace predgen
