#pragma once

#include <ATen/ATen.h>

namespace predgen {

/// input W^T + bias in the type of the input, for a frozen weight [out,in] kept in another type: it
/// is converted here, and again in the backward pass, so that the autograd graph holds no copy.
/// `bias` may be undefined.
at::Tensor narrow_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace predgen
