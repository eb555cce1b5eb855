#pragma once

#include <ATen/ATen.h>

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

}  // namespace predgen
