#pragma once

#include <ATen/ATen.h>

#include "kernels/gpu/gpu_kernels.h"
#include "model/gpu/gpu_matrix.h"

namespace predgen {

/// x [rows,in] W^T + bias, x bfloat16. The bits of a row depend neither on the others nor on their
/// number. `bias` undefined or [out]; `type` of the result: bfloat16 or float32, of which bfloat16
/// is the rounding. `splits`: GpuGroupProduct::num_splits.
at::Tensor multiply(const GpuKernels& kernels, const GpuMatrix& matrix, const at::Tensor& x,
                    const at::Tensor& bias, at::ScalarType type = at::kBFloat16, int splits = 0);

/// Whether multiply_bfloat16() takes such weights and inputs.
bool can_multiply_bfloat16(const at::Tensor& weight, const at::Tensor& x);
/// The same of weights [out,in] in bfloat16. `counters`: counters_for() as many outputs or more.
at::Tensor multiply_bfloat16(const GpuKernels& kernels, const at::Tensor& weight,
                             const at::Tensor& counters, const at::Tensor& x,
                             const at::Tensor& bias, at::ScalarType type = at::kBFloat16,
                             int splits = 0);

/// The current stream of a tensor's device; null on a CPU.
void* stream_of(const at::Tensor& tensor);
/// Error if the launch of a product failed.
void check_launched(const GpuKernels& kernels);

}  // namespace predgen
