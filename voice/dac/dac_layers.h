#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "voice/dac/dac_weights.h"

// The layers of a DAC codec, each run piece by piece on one clip: however it is split, the
// concatenated outputs are those of the whole clip, bitwise on a CPU. A layer is immutable; its
// state holds the end of the input that later output still needs. Tensors are float32 [N,E]: N time
// steps, possibly 0, E channels. Nothing is changed in place, so a copied state stays valid.

namespace predgen {

/// The weights of a convolution as row products, one per tap. Sounds are float32 [N,E], one row per
/// time step, contiguous. Runs our own kernels and threads on a CPU: the bits of a
/// row do not depend on the others or on the number of threads. Immutable, used by any number of
/// threads.
class TapWeights {
 public:
  TapWeights() = default;
  /// float32 [taps,E,O] and [O], on one device.
  TapWeights(const at::Tensor& weights_KEO, const at::Tensor& bias_O);

  int64_t taps() const { return taps_; }
  int64_t num_out() const { return out_; }

  /// x [N,E] to [N - (taps - 1) * dilation,O]: the bias plus, for each tap t, x[n + t * dilation]
  /// times its weights.
  at::Tensor multiply(const at::Tensor& x_NE, int64_t dilation = 1) const;
  /// Writes the product into `y_NO`, and adds `add_NO` unless it is undefined.
  void multiply(const at::Tensor& x_NE, int64_t dilation, const at::Tensor& add_NO,
                const at::Tensor& y_NO) const;

 private:
  void multiply_on_cpu(const at::Tensor& x_NE, int64_t dilation, const at::Tensor& add_NO,
                       const at::Tensor& y_NO) const;

  int64_t taps_ = 1, in_ = 0, out_ = 0;
  at::Tensor weights_;  // [taps,E,O]; on a CPU in panels of outputs, as the kernels read them
  at::Tensor bias_O_;   // on a CPU as the kernels read it
};

/// x + sin²(alpha x) / (alpha + 1e-9), by channel. A default-constructed one is the identity.
class Snake {
 public:
  Snake() = default;
  Snake(const DacWeights& weights, const std::string& name);
  at::Tensor operator()(const at::Tensor& x_NE) const;
  /// Into `to_NE`, which may be x.
  void write(const at::Tensor& x_NE, const at::Tensor& to_NE) const;

 private:
  at::Tensor alpha_E_, inverse_E_;
};

struct ConvState {
  at::Tensor tail_NE;  // undefined at the beginning of a clip
};

/// A convolution of stride 1, zero-padded to keep the clip's length.
class Conv {
 public:
  Conv() = default;
  Conv(const DacWeights& weights, const std::string& name, int64_t dilation = 1);

  /// Convolves snake(x). Until the end, returns padding() fewer time steps than it has taken.
  at::Tensor operator()(ConvState& state, const at::Tensor& x_NE, bool is_end,
                        const Snake& snake = {}) const;
  /// Without zero padding: 2 * padding() fewer time steps.
  at::Tensor valid(const at::Tensor& x_NE) const { return weights_.multiply(x_NE, dilation_); }
  const TapWeights& weights() const { return weights_; }
  int64_t padding() const { return padding_; }

 private:
  TapWeights weights_;
  int64_t dilation_ = 1, padding_ = 0;
};

struct TransposedConvState {
  at::Tensor last_1E;  // of the input
};

/// A transposed convolution of stride S (even) and kernel 2S, trimmed by S/2 at both clip ends.
class TransposedConv {
 public:
  TransposedConv(const DacWeights& weights, const std::string& name);

  /// Convolves snake(x). Returns S time steps per input step, S/2 fewer until the end.
  at::Tensor operator()(TransposedConvState& state, const at::Tensor& x_NE, bool is_end,
                        const Snake& snake) const;
  int64_t stride() const { return stride_; }
  int64_t num_values() const { return weights_.num_out(); }  // per input time step

 private:
  TapWeights weights_;  // from the previous and the current step to S steps at once
  int64_t stride_ = 0;
};

struct ResidualUnitState {
  ConvState conv;
  at::Tensor skip_NE;  // input waiting for its convolution
};

class ResidualUnit {
 public:
  ResidualUnit(const DacWeights& weights, const std::string& name, int64_t dilation);
  at::Tensor operator()(ResidualUnitState& state, const at::Tensor& x_NE, bool is_end) const;
  int64_t padding() const { return wide_.padding(); }

 private:
  Snake snake_, narrow_snake_;
  Conv wide_, narrow_;
};

/// res_unit1 to res_unit3 of a block.
std::vector<ResidualUnit> residual_units(const DacWeights& weights, const std::string& block);

}  // namespace predgen
