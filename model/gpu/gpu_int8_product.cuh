// Products with 8-bit weights: a warp makes an output of up to kMaxRows rows.
#pragma once

#include "model/gpu/gpu_kernels.h"
#include "model/gpu/gpu_values.cuh"

namespace predgen {
namespace {

constexpr int kProductWarps = 8;  // of a block
constexpr int kProductThreads = kProductWarps * kLanes;
constexpr int kVector = 16;      // weights that a lane takes at once: 16 bytes
constexpr int64_t kMaxRows = 8;  // of a launch: more would take too many registers

/// Adds kVector products to `sum`, from addresses that are multiples of 16.
__device__ inline float add_vector(float sum, const Vector<int8_t>& weights, const Bfloat16* x) {
  Bfloat16 inputs[kVector];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const auto vector = reinterpret_cast<const Vector<Bfloat16>*>(x)[i];
#pragma unroll
    for (int j = 0; j < 8; ++j) inputs[8 * i + j] = vector.values[j];
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    sum += static_cast<float>(weights.values[i]) * widen(inputs[i]);
  }
  return sum;
}

/// Up to kRows rows of y: those beyond the last repeat it and are not stored. Sums are taken in one
/// order, whatever kRows and with or without vectors, which need `in` to be a multiple of kVector
/// and addresses of 16.
template <int kRows, bool kVectors>
__global__ void __launch_bounds__(kProductThreads) int8_product_kernel(GpuInt8Product a) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanes;
  const int64_t in = a.in, out = a.out;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * kProductWarps + thread / kLanes;
  if (output >= out) return;  // the whole warp
  const int8_t* weight = a.values + output * in;
  const Bfloat16* x[kRows];
  float sums[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    x[row] = static_cast<const Bfloat16*>(a.x) + (row < a.rows ? row : a.rows - 1) * in;
    sums[row] = 0.0f;
  }
#pragma unroll 2
  for (int64_t i = lane * kVector; i < in; i += kLanes * kVector) {
    if constexpr (kVectors) {
      const auto weights = stream_vector(reinterpret_cast<const Vector<int8_t>*>(weight + i));
#pragma unroll
      for (int row = 0; row < kRows; ++row) sums[row] = add_vector(sums[row], weights, x[row] + i);
    } else {
      const int64_t end = i + kVector < in ? i + kVector : in;
      for (int64_t k = i; k < end; ++k) {
        const float value = weight[k];
#pragma unroll
        for (int row = 0; row < kRows; ++row) sums[row] += value * widen(x[row][k]);
      }
    }
  }
  const float scale = widen(static_cast<const Bfloat16*>(a.scales)[output]);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const float sum = warp_sum(sums[row]);
    if (lane == 0 && row < a.rows) {
      static_cast<Bfloat16*>(a.y)[row * out + output] = narrow<Bfloat16>(sum * scale);
    }
  }
}

inline bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

template <int kRows>
void launch_int8_product(const GpuInt8Product& a, void* stream) {
  const Grid grid{static_cast<int>((a.out + kProductWarps - 1) / kProductWarps)};
  const bool has_vectors = a.in % kVector == 0 && is_aligned(a.values) && is_aligned(a.x);
  launch(has_vectors ? int8_product_kernel<kRows, true> : int8_product_kernel<kRows, false>, grid,
         kProductThreads, stream, a);
}

void int8_product_launches(const GpuInt8Product& product, void* stream) {
  for (int64_t first = 0; first < product.rows; first += kMaxRows) {
    GpuInt8Product part = product;
    part.x = static_cast<const Bfloat16*>(part.x) + first * product.in;
    part.y = static_cast<Bfloat16*>(part.y) + first * product.out;
    part.rows = product.rows - first < kMaxRows ? product.rows - first : kMaxRows;
    if (part.rows == 1) {
      launch_int8_product<1>(part, stream);
    } else if (part.rows == 2) {
      launch_int8_product<2>(part, stream);
    } else if (part.rows <= 4) {
      launch_int8_product<4>(part, stream);
    } else {
      launch_int8_product<kMaxRows>(part, stream);
    }
  }
}

}  // namespace
}  // namespace predgen
