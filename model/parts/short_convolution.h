#pragma once

#include <memory>
#include <vector>

#include "model/parts/recurrent_part.h"

namespace predgen {

/// What a short convolution is, apart from the hidden size.
struct ShortConvolutionShape {
  int64_t taps = 3;  // inputs that an output sees, its own included
  bool bias = false;
};

/// LFM2's operator: y = out(c * conv(b * x)) with b, c and x products of the input, where conv is a
/// causal convolution of each channel by itself. Its state: the last inputs of the convolution.
class ShortConvolution : public RecurrentPart {
 public:
  ShortConvolution(const ShortConvolutionShape& shape, const LayerSource& source);

  at::Tensor read(const at::Tensor& input_BTE, const at::Tensor& gate_BT1) const override;
  at::Tensor advance(const at::Tensor& tokens_nW, LayerState& state) const override;
  at::Tensor write(const at::Tensor& found_BTE, const at::Tensor& gate_BT1) const override;
  std::vector<Linear*> linears() override { return {&in, &out}; }
  void add_others(NamedTensors& to) const override;

  ShortConvolutionShape shape;
  int64_t layer;
  at::Tensor taps_E1K, bias_E;  // the latter undefined without ShortConvolutionShape::bias
  Linear in, out;               // in: b, c and x
};

class ShortConvolutionSpec : public RecurrentSpec {
 public:
  explicit ShortConvolutionSpec(const ShortConvolutionShape& what) : shape(what) {}

  const char* name() const override { return "short convolution"; }
  bool has_cpu_kernels() const override { return true; }
  void add_weights(const ModelConfig& config, LayerWeights& to) const override;
  std::unique_ptr<RecurrentPart> make(const LayerSource& source) const override;
  int64_t saved_values(const ModelConfig& config) const override;
  int64_t state_bytes(const ModelConfig& config, int64_t bytes_per_value) const override;

  const ShortConvolutionShape shape;
};

/// The state is float32 [units,taps - 1,channels of a unit], the oldest input first; a unit of 16
/// channels, or of all where there are other than multiples of 16.
int64_t num_convolution_units(int64_t num_channels);

}  // namespace predgen
