#include "tests/model/gpu/emulated_kernels.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <vector>

#include "core/error.h"
#include "kernels/half.h"

// CUDA's words, for the kernels below. Blocks run one after the other, so what they share is
// static.
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __syncthreads sync_emulated_block
#define __syncwarp sync_emulated_warp
#define threadIdx thread_index
#define blockIdx block_index

namespace predgen {
namespace {

struct alignas(16) int4 {
  int x, y, z, w;
};
template <class T>
T __ldcs(const T* from) {
  return *from;
}
float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t __float_as_uint(float value) { return std::bit_cast<uint32_t>(value); }
int __popcll(uint64_t bits) { return std::popcount(bits); }
int lane_index() { return static_cast<int>(thread_index.x % 32); }

float __shfl_xor_sync(uint32_t, float value, int lane_mask) {
  const int from = lane_index() ^ lane_mask;
  float taken = 0.0f;
  exchange_in_emulated_warp(
      &value, [&](const void* const* given) { taken = *static_cast<const float*>(given[from]); });
  return taken;
}

struct alignas(8) uint2 {
  uint32_t x, y;
};
int __clz(int bits) { return std::countl_zero(static_cast<uint32_t>(bits)); }

alignas(16) char memory_of_block[99 << 10];
char* dynamic_memory() { return memory_of_block; }

float half_value(uint32_t bits) { return from_half(static_cast<uint16_t>(bits)); }

uint32_t byte_perm(uint32_t low, uint32_t high, uint32_t which) {
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
float half_of(uint32_t pair, int half) {
  return std::bit_cast<float>(half == 0 ? pair << 16 : pair & 0xFFFF0000);
}

uint32_t add_pairs(uint32_t a, uint32_t b) {
  const auto sum = [&](int half) {
    const auto bits = std::bit_cast<uint32_t>(half_of(a, half) + half_of(b, half));
    PREDGEN_CHECK((bits & 0xFFFF) == 0, "a code is not exact");
    return bits >> 16;
  };
  return sum(0) | sum(1) << 16;
}

/// As PTX's manual gives the fragments of mma.m16n8k16.
void multiply_tile(float sums[4], const uint32_t weights[4], const uint32_t inputs[2]) {
  struct Given {
    const uint32_t *weights, *inputs;
  } const mine{weights, inputs};
  exchange_in_emulated_warp(&mine, [&](const void* const* lanes) {
    const auto given = [&](int lane) { return static_cast<const Given*>(lanes[lane]); };
    const int group = lane_index() / 4, pair = lane_index() % 4;
    for (int i = 0; i < 4; ++i) {
      const int output = group + i / 2 * 8, token = 2 * pair + i % 2;
      for (int k = 0; k < 16; k += 2) {
        const int at = k % 8 / 2, late = k / 8;
        const uint32_t w = given(output % 8 * 4 + at)->weights[output / 8 + 2 * late];
        const uint32_t x = given(token * 4 + at)->inputs[late];
        sums[i] += half_of(w, 0) * half_of(x, 0);
        sums[i] += half_of(w, 1) * half_of(x, 1);
      }
    }
  });
}

void multiply_new_tile(float sums[4], const uint32_t weights[4], const uint32_t inputs[2]) {
  sums[0] = sums[1] = sums[2] = sums[3] = 0.0f;
  multiply_tile(sums, weights, inputs);
}

/// Copies that were sent for and not waited for, of each thread of a block, part by part.
struct Copy {
  void* to;
  const void* from;  // null: zeros
};
std::vector<std::deque<std::vector<Copy>>> copies;

std::deque<std::vector<Copy>>& copies_of_thread() {
  if (copies.size() <= thread_index.x) copies.resize(thread_index.x + 1);
  if (copies[thread_index.x].empty()) copies[thread_index.x].emplace_back();
  return copies[thread_index.x];
}
void copy_ahead(void* to, const void* from, bool is_there) {
  memset(to, 0xFF, 16);  // as nothing says what is there until it is waited for
  copies_of_thread().back().push_back({to, is_there ? from : nullptr});
}
void end_copies() { copies_of_thread().emplace_back(); }
template <int kParts>
void await_copies() {
  auto& parts = copies_of_thread();
  for (; parts.size() > kParts + 1; parts.pop_front()) {  // the last one has not ended
    for (const auto& [to, from] : parts.front()) {
      from != nullptr ? memcpy(to, from, 16) : memset(to, 0, 16);
    }
  }
}

ThreadOrder order_of_threads;
int64_t num_launches;

template <class Kernel, class Grid, class Args>
void launch(Kernel kernel, const Grid& grid, int threads, void*, const Args& args) {
  PREDGEN_CHECK(grid.x > 0 && grid.y > 0 && grid.y < 65536 && grid.z > 0 && grid.z < 65536,
                "a grid of {} x {} x {} blocks", grid.x, grid.y, grid.z);
  ++num_launches;
  for (int z = 0; z < grid.z; ++z) {
    for (int y = 0; y < grid.y; ++y) {
      for (int x = 0; x < grid.x; ++x) {
        block_index = {static_cast<unsigned>(x), static_cast<unsigned>(y),
                       static_cast<unsigned>(z)};
        run_emulated_block(threads, order_of_threads, [&] { kernel(args); });
      }
    }
  }
}

template <class Kernel, class Grid, class Args>
void launch_with_memory(Kernel kernel, const Grid& grid, int threads, int, void* stream,
                        const Args& args) {
  memset(memory_of_block, 0xFF, sizeof(memory_of_block));  // NaN in every type
  launch(kernel, grid, threads, stream, args);
}

}  // namespace
}  // namespace predgen

#include "kernels/gpu/gpu_kernels.cuh"

namespace predgen {

const GpuKernels& emulated_kernels(ThreadOrder order) {
  static const GpuKernels kernels =
      kernels_with([]() -> const char* { return nullptr; }, [] { return GpuSupport{}; });
  order_of_threads = order;
  return kernels;
}

int64_t num_emulated_launches() { return num_launches; }

}  // namespace predgen
