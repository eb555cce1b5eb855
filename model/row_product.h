#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "kernels/grouped_matrix.h"

namespace predgen {

// Products y = x W^T on a CPU for the few rows of a decoding step or of a draft. They are bound by
// the bytes of W, so W is read once, ahead of need. x is bfloat16 [rows,in], y bfloat16 [rows,out],
// at any address. With our own kernels a row of y does not depend on the number of rows; the
// integer kernels give the same bits on every CPU. Callable from any thread. For GPUs see
// model/gpu/gpu_matrix.h.

/// Above this, LibTorch's product is used where it is faster: with AMX, and where ours has no SIMD;
/// for integers with a widened matrix.
constexpr int64_t kFewRowsOnCpu = 64;
/// kFewRowsOnCpu, or no bound.
int64_t max_rows_on_cpu();

/// Whether int8_product() takes `x`: up to max_rows_on_cpu() rows on a CPU.
bool has_int8_product(const at::Tensor& x);
/// `values` int8 [out,in], contiguous; `scales` bfloat16 [out]: W ~ values * scales. Our kernels
/// multiply integers, exactly: 512 inputs of a row of x at a time are rounded to 16 bits of the
/// largest, and a row that is not finite gives NaN.
at::Tensor int8_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales);

/// Any number of rows; rounds x as int8_product() does, group by group.
at::Tensor grouped_product(const at::Tensor& x, const GroupedMatrix& matrix);

/// input [..,in] W^T + bias [..,out], `bias` undefined or in the type of the others: at::linear, or
/// for up to max_rows_on_cpu() rows of bfloat16 our kernel for CPUs from AVX2 on, which has no
/// gradient and is not used when one is needed. It sums in float32 (with bfloat16 instructions, as
/// they do).
at::Tensor few_row_linear(const at::Tensor& input, const at::Tensor& weight,
                          const at::Tensor& bias);

}  // namespace predgen
