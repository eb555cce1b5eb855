#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "model/parts/layer_weights.h"
#include "model/quantized_weight.h"

namespace predgen {

// Shapes: B rows, T tokens, E hidden size, L layers, P ModelConfig::layer_input_width.

/// What each layer gets of each token beside the output of the layer before (Gemma 3n and 4): a row
/// of a second embedding, and a product of the first one.
class LayerInputs {
 public:
  /// The name of the second embedding.
  static constexpr const char* kTable = "model.embed_tokens_per_layer.weight";
  static void add_weights(const ModelConfig& config, std::vector<WeightSpec>& weights);
  explicit LayerInputs(const WeightByName& weight);

  /// `embedded_BTE`: the model's embeddings of the tokens, scaled. [B,T,L,P].
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& tokens_BT,
                        const at::Tensor& embedded_BTE) const;
  void add_tensors(NamedTensors& to) const;
  /// What rows of the embedding are multiplied by, rounded to their type.
  double row_scale(const ModelConfig& config) const;

  at::Tensor embedding, norm;                     // [V,L * P], [P]
  Linear projection;                              // [L * P,E], never packed
  std::shared_ptr<const QuantizedWeight> packed;  // not null: holds the embedding's rows
};

/// What a layer makes of its input by LayerInputs: norm(out(gelu(gate(x)) * input)).
class LayerInput {
 public:
  static void add_weights(const ModelConfig& config, LayerWeights& to);
  explicit LayerInput(const LayerSource& source);

  /// [B,T,E] to [B,T,E]; `own_BTP`: the layer's. `adapter_gate`: the gate of Linear.
  at::Tensor operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                        const at::Tensor& own_BTP, const at::Tensor& adapter_gate) const;
  std::vector<Linear*> linears() { return {&gate, &out}; }
  void add_others(NamedTensors& to) const;

  int64_t layer;
  Linear gate, out;
  at::Tensor norm;
};

}  // namespace predgen
