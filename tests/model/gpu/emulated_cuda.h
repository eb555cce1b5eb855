// CUDA's words, for kernels that are compiled for the CPU; included before them. What one thread
// sees of others is in emulated_cuda.cpp, which is compiled without the checks of kernels.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "kernels/half.h"
#include "tests/model/gpu/emulated_block.h"

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's names
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local  // of a block: see emulated_shared_variables()
#define __launch_bounds__(...)
#define __syncthreads sync_emulated_block
#define __syncwarp sync_emulated_warp
#define __threadfence fence_in_emulation
#define threadIdx thread_index
#define blockIdx block_index

namespace predgen {

/// mma.m16n8k16 with the fragments that PTX's manual gives.
void multiply_in_emulation(float sums[4], const uint32_t weights[4], const uint32_t inputs[2]);
float shuffle_in_emulation(float value, int from_lane);

/// Of the thread that runs: a copy of 16 bytes, or as many zeros, which is there once it is waited
/// for.
void copy_in_emulation(void* to, const void* from, bool is_there);
void end_copies_in_emulation();
/// Until at most so many parts are under way.
void await_copies_in_emulation(size_t parts);

void fence_in_emulation();
void fetch_in_emulation(const void* from);
int add_in_emulation(int* to, int value);

/// Is told of what threads do on the side of the accesses that the compiler reports.
class EmulatedAccesses {
 public:
  virtual ~EmulatedAccesses() = default;
  virtual void send_copy(const void* to, const void* from, const void* site) = 0;
  virtual void receive_copy(const void* to) = 0;
  virtual void fence() = 0;
  virtual void use_atomic(const void* place) = 0;
};
/// Null: nobody is told.
void watch_accesses(EmulatedAccesses* accesses);

namespace {

struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  uint32_t x, y;
};
inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t __float_as_uint(float value) { return std::bit_cast<uint32_t>(value); }
inline int __popcll(uint64_t bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<uint32_t>(bits)); }
inline int lane_index() { return static_cast<int>(thread_index.x % 32); }

inline float __shfl_xor_sync(uint32_t, float value, int lane_mask) {
  return shuffle_in_emulation(value, lane_index() ^ lane_mask);
}
[[maybe_unused]] inline int atomicAdd(int* to, int value) { return add_in_emulation(to, value); }

inline char* dynamic_memory() { return emulated_memory().data(); }

inline float half_value(uint32_t bits) { return from_half(static_cast<uint16_t>(bits)); }

inline uint32_t byte_perm(uint32_t low, uint32_t high, uint32_t which) {
  const uint64_t bytes = low | static_cast<uint64_t>(high) << 32;
  uint32_t found = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t digit = which >> (4 * i) & 15;
    PREDGEN_CHECK(digit < 8, "byte {} of 8", digit);
    found |= static_cast<uint32_t>(bytes >> (8 * digit) & 0xFF) << (8 * i);
  }
  return found;
}

/// The half of a pair of bfloat16.
inline float half_of(uint32_t pair, int half) {
  return std::bit_cast<float>(half == 0 ? pair << 16 : pair & 0xFFFF0000);
}

inline uint32_t add_pairs(uint32_t a, uint32_t b) {
  const auto sum = [&](int half) {
    const auto bits = std::bit_cast<uint32_t>(half_of(a, half) + half_of(b, half));
    PREDGEN_CHECK((bits & 0xFFFF) == 0, "a code is not exact");
    return bits >> 16;
  };
  return sum(0) | sum(1) << 16;
}

inline void multiply_tile(float sums[4], const uint32_t weights[4], const uint32_t inputs[2]) {
  multiply_in_emulation(sums, weights, inputs);
}
inline void multiply_new_tile(float sums[4], const uint32_t weights[4], const uint32_t inputs[2]) {
  sums[0] = sums[1] = sums[2] = sums[3] = 0.0f;
  multiply_in_emulation(sums, weights, inputs);
}

inline void copy_ahead(void* to, const void* from, bool is_there) {
  copy_in_emulation(to, from, is_there);
}
inline void fetch_to_l2(const void* from) { fetch_in_emulation(from); }
inline void end_copies() { end_copies_in_emulation(); }
template <int kParts>
void await_copies() {
  await_copies_in_emulation(kParts);
}

}  // namespace
}  // namespace predgen
// NOLINTEND(bugprone-reserved-identifier)
