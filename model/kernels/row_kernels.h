#pragma once

#include <ATen/ATen.h>

namespace predgen {

// y = x W^T for the one or two rows of a decoding step on a CPU. Such a product is bound by the
// bytes of W: these read W once, in its order and ahead of need, which LibTorch's do not.

/// Whether this processor can run them (AVX-512 with bfloat16 and VNNI) and `x` is theirs:
/// bfloat16, on the CPU, [1,in] or [2,in], `in` a multiple of 64.
bool has_row_kernels(const at::Tensor& x);

/// `weight` bfloat16 [out,in], contiguous. Returns bfloat16 [rows,out], summed in float32.
at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight);
/// `values` int8 [out,in], contiguous; `scales` bfloat16 [out]. Multiplied as integers: each row of
/// x is rounded to 16 bits of its largest entry. A row that is not finite gives NaN.
at::Tensor row_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales);

}  // namespace predgen
