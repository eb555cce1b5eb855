// Values in a kernel, sums over a warp or a block, and the last block to arrive.
#pragma once

#include <cstdint>

#include "kernels/gpu/gpu_kernels.h"

namespace predgen {
namespace {

constexpr int kLanes = 32;  // of a warp

/// Blocks of a launch.
struct Grid {
  int x, y = 1, z = 1;
};

inline bool reads_ahead(const GpuReadAhead& ahead) { return ahead.bytes[0] + ahead.bytes[1] > 0; }

/// The share of one of the blocks of a launch that only read ahead.
__device__ inline void read_ahead(const GpuReadAhead& ahead, int block, int num_blocks,
                                  int num_threads) {
  constexpr int kSector = 32;  // what memory gives at a time
  const int64_t first = static_cast<int64_t>(block) * num_threads + static_cast<int>(threadIdx.x);
  const int64_t step = static_cast<int64_t>(num_blocks) * num_threads;
  for (int k = 0; k < 2; ++k) {
    const char* from = static_cast<const char*>(ahead.from[k]);
    for (int64_t i = first; i < ahead.bytes[k] / kSector; i += step) {
      fetch_to_l2(from + i * kSector);
    }
  }
}

struct Bfloat16 {
  uint16_t bits;
};

__device__ inline float widen(float value) { return value; }
__device__ inline float widen(Bfloat16 value) {
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

template <class T>
__device__ T narrow(float value);
template <>
__device__ inline float narrow<float>(float value) {
  return value;
}
/// Rounds to nearest even; NaN stays NaN.
template <>
__device__ inline Bfloat16 narrow<Bfloat16>(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

/// 16 bytes in one read.
template <class T>
struct alignas(16) Vector {
  T values[16 / sizeof(T)];
};

/// Two values at an even index.
struct Pair {
  float first, second;
};
__device__ inline Pair load_pair(const float* from) { return {from[0], from[1]}; }
__device__ inline Pair load_pair(const Bfloat16* from) {
  const uint32_t bits = *reinterpret_cast<const uint32_t*>(from);
  return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000)};
}

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}
__device__ inline float warp_max(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
  }
  return value;
}

/// The sum over all threads of a block, in a fixed order.
template <int kThreads>
__device__ float block_sum(float value) {
  __shared__ float sums[kThreads / kLanes];
  value = warp_sum(value);
  __syncthreads();  // the previous sum has been read
  if (threadIdx.x % kLanes == 0) sums[threadIdx.x / kLanes] = value;
  __syncthreads();
  float total = 0.0f;
#pragma unroll
  for (int warp = 0; warp < kThreads / kLanes; ++warp) total += sums[warp];
  return total;
}

/// Whether a block is the last one of `count` to arrive, which then sees what the others wrote
/// before. `counter`: 0 before and after.
__device__ inline bool is_last_to_arrive(int* counter, int count) {
  __shared__ int is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // what the block wrote is there before it counts as arrived
    is_last = atomicAdd(counter, 1) == count - 1 ? 1 : 0;
    __threadfence();  // and so is what the others wrote before it is read
    if (is_last != 0) *counter = 0;
  }
  __syncthreads();
  return is_last != 0;
}
}  // namespace
}  // namespace predgen
