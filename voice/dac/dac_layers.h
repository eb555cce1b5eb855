#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "voice/dac/dac_weights.h"

// The layers of a DAC codec, each run piece by piece on one clip: whatever the pieces, their
// outputs joined are those of the whole clip. A layer is immutable; its state holds the end of the
// input that later output still needs. Tensors are float32 [E,N]: E channels, N samples, which may
// be 0. Nothing is changed in place, so that a copied state stays as it was.
namespace predgen {

/// x + sin²(alpha x) / (alpha + 1e-9), by channel.
class Snake {
 public:
  Snake() = default;
  Snake(const DacWeights& weights, const std::string& name);
  at::Tensor operator()(const at::Tensor& x_EN) const;

 private:
  at::Tensor alpha_E1_, inverse_E1_;
};

struct ConvState {
  at::Tensor tail_EN;  // undefined at the beginning of a clip
};

/// A convolution of stride 1 with zeros around the clip, as many as keep its length.
class Conv {
 public:
  Conv() = default;
  Conv(const DacWeights& weights, const std::string& name, int64_t dilation = 1);

  /// Gives padding() samples fewer than it has taken, until the end.
  at::Tensor operator()(ConvState& state, const at::Tensor& x_EN, bool is_end) const;
  /// Without zeros around: 2 * padding() samples fewer.
  at::Tensor valid(const at::Tensor& x_EN) const;
  int64_t padding() const { return padding_; }

 private:
  at::Tensor taps_KOE_, bias_O1_;
  int64_t dilation_ = 1, padding_ = 0;
};

struct TransposedConvState {
  at::Tensor tail_OS;  // what the last input sample adds to the next S output samples
};

/// A transposed convolution of stride S (even) and kernel 2S, cut by S/2 at both ends of the clip.
class TransposedConv {
 public:
  TransposedConv(const DacWeights& weights, const std::string& name);

  /// Gives S for each input sample, S/2 fewer until the end.
  at::Tensor operator()(TransposedConvState& state, const at::Tensor& x_EN, bool is_end) const;
  int64_t stride() const { return stride_; }

 private:
  at::Tensor weight_OE_;  // rows: output channel, then place in the kernel
  at::Tensor bias_O1_;
  int64_t stride_ = 0;
};

struct ResidualUnitState {
  ConvState conv;
  at::Tensor skip_EN;  // input that waits for its convolution
};

class ResidualUnit {
 public:
  ResidualUnit(const DacWeights& weights, const std::string& name, int64_t dilation);
  at::Tensor operator()(ResidualUnitState& state, const at::Tensor& x_EN, bool is_end) const;
  int64_t padding() const { return wide_.padding(); }

 private:
  Snake snake_, narrow_snake_;
  Conv wide_, narrow_;
};

/// res_unit1 to res_unit3 of a block.
std::vector<ResidualUnit> residual_units(const DacWeights& weights, const std::string& block);

}  // namespace predgen
