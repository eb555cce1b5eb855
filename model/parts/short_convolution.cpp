#include "model/parts/short_convolution.h"

namespace predgen {
namespace {

constexpr ModuleName kConvolutionModule{"conv.conv", "shortconv.conv"},
    kConvolutionIn{"conv.in_proj", "shortconv.in_proj"},
    kConvolutionOut{"conv.out_proj", "shortconv.out_proj"};
constexpr ModuleName kConvolutionTaps{"conv.conv.weight", "shortconv.conv.weight"},
    kConvolutionBias{"conv.conv.bias", "shortconv.conv.bias"};

}  // namespace

int64_t num_convolution_units(int64_t num_channels) {
  constexpr int64_t kUnit = 16;
  return num_channels % kUnit == 0 ? num_channels / kUnit : 1;
}

void ShortConvolutionSpec::add_weights(const ModelConfig& config, LayerWeights& to) const {
  const int64_t E = config.hidden_size;
  to.add_tensor(kConvolutionTaps, WeightSpec{.name = {}, .shape = {E, 1, shape.taps}});
  if (shape.bias) to.add_tensor(kConvolutionBias, WeightSpec{.name = {}, .shape = {E}});
  to.add(kConvolutionIn, {.out = 3 * E, .in = E, .has_bias = shape.bias});
  to.add(kConvolutionOut, {.out = E, .in = E, .has_bias = shape.bias, .input = 1});
}

std::unique_ptr<RecurrentPart> ShortConvolutionSpec::make(const LayerSource& source) const {
  return std::make_unique<ShortConvolution>(shape, source);
}

int64_t ShortConvolutionSpec::saved_values(const ModelConfig& config) const {
  return config.hidden_size * (shape.taps + 6);
}

int64_t ShortConvolutionSpec::state_bytes(const ModelConfig& config, int64_t) const {
  return (shape.taps - 1) * config.hidden_size * static_cast<int64_t>(sizeof(float));
}

ShortConvolution::ShortConvolution(const ShortConvolutionShape& what, const LayerSource& source)
    : shape(what),
      layer(source.layer()),
      taps_E1K(source.tensor(kConvolutionTaps)),
      bias_E(source.tensor(kConvolutionBias)),
      in(source.linear(kConvolutionIn)),
      out(source.linear(kConvolutionOut)) {}

void ShortConvolution::add_others(NamedTensors& to) const {
  to.emplace_back(tensor_name(layer, kConvolutionTaps), taps_E1K);
  if (bias_E.defined()) to.emplace_back(tensor_name(layer, kConvolutionBias), bias_E);
}

at::Tensor ShortConvolution::read(const at::Tensor& input_BTE, const at::Tensor& gate_BT1) const {
  const std::vector<at::Tensor> parts = in(input_BTE, gate_BT1).chunk(3, -1);
  return at::cat({parts[0] * parts[2], parts[1]}, -1);
}

at::Tensor ShortConvolution::advance(const at::Tensor& tokens_nW, LayerState& state) const {
  const std::vector<at::Tensor> parts = tokens_nW.chunk(2, -1);
  const int64_t n = tokens_nW.size(0), E = parts[0].size(1), K = shape.taps;
  const int64_t units = num_convolution_units(E);
  const at::Tensor wide_nE = parts[0].to(at::kFloat);
  const at::Tensor before_KE = state.empty() ? at::zeros({K - 1, E}, wide_nE.options())
                                             : state.front().transpose(0, 1).reshape({K - 1, E});
  const at::Tensor all_E = at::cat({before_KE, wide_nE});
  const at::Tensor taps_KE = taps_E1K.squeeze(1).to(at::kFloat).t();
  at::Tensor found_nE = all_E.narrow(0, 0, n) * taps_KE[0];
  for (int64_t k = 1; k < K; ++k) found_nE = found_nE + all_E.narrow(0, k, n) * taps_KE[k];
  if (bias_E.defined()) found_nE = found_nE + bias_E.to(at::kFloat);
  state = {all_E.narrow(0, n, K - 1).view({K - 1, units, E / units}).transpose(0, 1).contiguous()};
  return found_nE.to(tokens_nW.scalar_type()) * parts[1];
}

at::Tensor ShortConvolution::write(const at::Tensor& found_BTE, const at::Tensor& gate_BT1) const {
  return out(found_BTE, gate_BT1);
}

}  // namespace predgen
