// What a LoRA adapter adds to a product. A token's bits do not depend on the others.
#pragma once

#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/gpu_values.cuh"

namespace predgen {
namespace {

constexpr int kAdapterThreads = 256;

/// One block per row of A and token.
template <class T>
__global__ void __launch_bounds__(kAdapterThreads) adapter_inputs_kernel(GpuAdapter a) {
  const int64_t rank = blockIdx.x, token = blockIdx.y;
  if (a.tokens[token].has_adapter == 0) return;  // the whole block
  const T* const x = static_cast<const T*>(a.x) + token * a.in;
  const float* const weights = a.a + rank * a.in;
  float sum = 0.0f;
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < a.in; i += kAdapterThreads) {
    sum = fmaf(widen(x[i]), weights[i], sum);
  }
  sum = block_sum<kAdapterThreads>(sum);
  if (threadIdx.x == 0) a.narrow[token * a.rank + rank] = sum * a.scaling;
}

/// One thread per output and token.
template <class T>
__global__ void __launch_bounds__(kAdapterThreads) adapter_outputs_kernel(GpuAdapter a) {
  const int64_t token = blockIdx.y;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * kAdapterThreads + threadIdx.x;
  if (output >= a.out) return;
  float sum = 0.0f;
  if (a.tokens[token].has_adapter != 0) {
#pragma unroll 8
    for (int i = 0; i < a.rank; ++i) {
      sum = fmaf(a.narrow[token * a.rank + i], a.b[output * a.rank + i], sum);
    }
  }
  const float base = a.base[token * a.base_stride + output];
  static_cast<T*>(a.y)[token * a.out + output] = narrow<T>(base + sum);
}

}  // namespace
}  // namespace predgen
