// The kernel of row_product.h for CUDA, without LibTorch's headers.
#include <cuda_runtime.h>

#include <algorithm>

#include "model/kernels/row_product.h"

namespace predgen {
namespace {

constexpr int kLanes = 32;       // of a warp, which makes one output
constexpr int kWarps = 8;        // of a block
constexpr int kVector = 16;      // weights that a lane takes at once: 16 bytes
constexpr int64_t kMaxRows = 8;  // of a launch: more would take too many registers

__device__ float widen(uint32_t bfloat16) { return __uint_as_float(bfloat16 << 16); }

/// To the nearest bfloat16, the even one of two; NaN stays.
__device__ uint16_t narrow(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Adds kVector products to `sum`, from addresses that are multiples of 16.
__device__ float add_vector(float sum, const int4& weights, const uint16_t* x) {
  const uint4* inputs = reinterpret_cast<const uint4*>(x);
  const uint4 first = inputs[0], second = inputs[1];
  const int words[4] = {weights.x, weights.y, weights.z, weights.w};
  const uint32_t pairs[8] = {first.x,  first.y,  first.z,  first.w,
                             second.x, second.y, second.z, second.w};
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const auto weight = static_cast<int8_t>(words[i / 4] >> (i % 4 * 8));
    const uint32_t input = i % 2 == 0 ? pairs[i / 2] & 0xffff : pairs[i / 2] >> 16;
    sum += static_cast<float>(weight) * widen(input);
  }
  return sum;
}

/// Up to kRows rows of y: those beyond the last repeat it and are not stored. Sums are taken in one
/// order, whatever kRows and with or without vectors, which need `in` to be a multiple of kVector
/// and addresses of 16.
template <int kRows, bool kVectors>
__global__ void __launch_bounds__(kLanes* kWarps) multiply(Int8Product product) {
  const int64_t in = product.in, out = product.out;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (output >= out) return;  // the whole warp
  const int8_t* weight = product.values + output * in;
  const uint16_t* x[kRows];
  float sums[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    x[row] = product.x + (row < product.rows ? row : product.rows - 1) * in;
    sums[row] = 0.0f;
  }
#pragma unroll 2
  for (int64_t i = threadIdx.x * kVector; i < in; i += kLanes * kVector) {
    if constexpr (kVectors) {
      const int4 weights = __ldcs(reinterpret_cast<const int4*>(weight + i));  // not needed again
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
  const float scale = widen(product.scales[output]);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      sums[row] += __shfl_xor_sync(0xffffffff, sums[row], offset);
    }
    if (threadIdx.x == 0 && row < product.rows) {
      product.y[row * out + output] = narrow(sums[row] * scale);
    }
  }
}

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % sizeof(int4) == 0;
}

template <int kRows>
void launch(const Int8Product& product, cudaStream_t stream) {
  const dim3 block(kLanes, kWarps);
  const auto grid = static_cast<unsigned>((product.out + kWarps - 1) / kWarps);
  if (product.in % kVector == 0 && is_aligned(product.values) && is_aligned(product.x)) {
    multiply<kRows, true><<<grid, block, 0, stream>>>(product);
  } else {
    multiply<kRows, false><<<grid, block, 0, stream>>>(product);
  }
}

}  // namespace

bool has_int8_product_on_cuda() { return true; }

const char* run_on_cuda(const Int8Product& product, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  for (int64_t first = 0; first < product.rows; first += kMaxRows) {
    Int8Product part = product;
    part.x += first * product.in;
    part.y += first * product.out;
    part.rows = std::min(product.rows - first, kMaxRows);
    if (part.rows == 1) {
      launch<1>(part, on);
    } else if (part.rows == 2) {
      launch<2>(part, on);
    } else if (part.rows <= 4) {
      launch<4>(part, on);
    } else {
      launch<kMaxRows>(part, on);
    }
  }
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace predgen
