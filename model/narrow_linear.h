#pragma once

#include <ATen/ATen.h>

namespace predgen {

/// input W^T + bias in the type of the input, of a frozen weight [out,in] that is kept in another
/// one: it is converted here, and again in the backward pass, so that a graph holds no copy of it.
/// `bias` may be undefined.
at::Tensor narrow_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace predgen
