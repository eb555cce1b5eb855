#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/linear.h"
#include "model/model_config.h"
#include "model/parts/layer_weights.h"

namespace predgen {

// Shapes: T tokens, E hidden size.

/// What an MTP layer gets of each token (multi-token prediction; DeepSeek-V3, arXiv 2412.19437,
/// section 2.2): its embedding beside the hidden state of the token before it, each with a norm of
/// its own. As in Qwen3.5: the embedding comes first, and hidden states are those after the last
/// norm, of the model or of the layer's own last guess.
struct MtpInput {
  /// Appends its weights, by the names that a checkpoint has.
  static void add_weights(const ModelConfig& config, std::vector<WeightSpec>& weights);
  explicit MtpInput(const WeightByName& weight);

  /// [1,T,E] of both.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& embedded_1TE,
                        const at::Tensor& hidden_1TE) const;

  void add_tensors(NamedTensors& to) const;

  at::Tensor embedding_norm, hidden_norm;  // [E]
  Linear projection;                       // [E,2E]
};

}  // namespace predgen
