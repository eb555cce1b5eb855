#include "model/parts/layer_inputs.h"

#include <cmath>

#include "core/error.h"
#include "model/parts/operators.h"

namespace predgen {
namespace {

constexpr const char *kProjection = "model.per_layer_model_projection",
                     *kProjectionNorm = "model.per_layer_projection_norm.weight";
constexpr ModuleName kInputGate{"per_layer_input_gate", "inp_gate"},
    kInputOut{"per_layer_projection", "proj"}, kInputNorm{"post_per_layer_input_norm", "post_norm"};

// The inputs of linears, as WeightSpec::input numbers them.
constexpr int64_t kHiddenInput = 4, kGatedInput = 5;

double root(int64_t size) { return std::sqrt(static_cast<double>(size)); }

}  // namespace

void LayerInputs::add_weights(const ModelConfig& config, std::vector<WeightSpec>& weights) {
  const int64_t P = config.layer_input_width, all = config.num_layers() * P;
  if (P == 0) return;
  weights.push_back(
      {.name = kTable,
       .shape = {config.vocab_size, all},
       .gguf = "per_layer_token_embd.weight",
       .share = 1.0 / static_cast<double>(config.vocab_size)});  // a row of each token
  weights.push_back({.name = kProjection + std::string(".weight"),
                     .shape = {all, config.hidden_size},
                     .gguf = "per_layer_model_proj.weight"});
  weights.push_back({.name = kProjectionNorm,
                     .shape = {P},
                     .gguf = "per_layer_proj_norm.weight",
                     .is_norm = true});
}

LayerInputs::LayerInputs(const WeightByName& weight)
    : embedding(weight(kTable)), norm(weight(kProjectionNorm)) {
  projection.name = kProjection;
  projection.weight = weight(projection.name + ".weight");
}

double LayerInputs::row_scale(const ModelConfig& config) const {
  return at::scalar_tensor(root(config.layer_input_width), embedding.scalar_type()).item<double>();
}

at::Tensor LayerInputs::operator()(const ModelConfig& config, const at::Tensor& tokens_BT,
                                   const at::Tensor& embedded_BTE) const {
  const std::vector<int64_t> sizes{tokens_BT.size(0), tokens_BT.size(1), config.num_layers(),
                                   config.layer_input_width};
  const at::ScalarType type = embedded_BTE.scalar_type();
  const at::Tensor rows =
      packed ? packed->rows(tokens_BT).to(type) : at::embedding(embedding, tokens_BT);
  const at::Tensor looked_up = (rows * row_scale(config)).view(sizes).to(type);
  const at::Tensor projected =
      (projection(embedded_BTE) / root(config.hidden_size)).view(sizes).to(type);
  const at::Tensor normed = rms_norm(config, projected, norm);
  return (normed + looked_up) * std::sqrt(0.5);
}

void LayerInputs::add_tensors(NamedTensors& to) const {
  PREDGEN_CHECK(!packed, "{} is packed", kTable);
  to.emplace_back(kTable, embedding);
  to.emplace_back(projection.name + ".weight", projection.weight);
  to.emplace_back(kProjectionNorm, norm);
}

void LayerInput::add_weights(const ModelConfig& config, LayerWeights& to) {
  const int64_t E = config.hidden_size, P = config.layer_input_width;
  to.add(kInputGate, {.out = P, .in = E, .input = kHiddenInput});
  to.add(kInputOut, {.out = E, .in = P, .input = kGatedInput});
  to.add_norm(kInputNorm, E);
}

LayerInput::LayerInput(const LayerSource& source)
    : layer(source.layer()),
      gate(source.linear(kInputGate)),
      out(source.linear(kInputOut)),
      norm(source.norm(kInputNorm)) {}

at::Tensor LayerInput::operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                                  const at::Tensor& own_BTP, const at::Tensor& adapter_gate) const {
  const at::Tensor opened =
      activated(Activation::kGeluTanh, gate(hidden_BTE, adapter_gate), own_BTP);
  return rms_norm(config, out(opened, adapter_gate), norm);
}

void LayerInput::add_others(NamedTensors& to) const {
  to.emplace_back(weight_name(layer, kInputNorm), norm);
}

}  // namespace predgen
