#include "tests/model/gpu/emulated_kernels.h"

#include <bit>
#include <cmath>

#include "core/error.h"

// CUDA's words, for the kernels below. Blocks run one after the other, so what they share is
// static.
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)
#define __syncthreads sync_emulated_block
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
float __shfl_xor_sync(uint32_t, float value, int lane_mask) {
  return shuffle_emulated_warp(value, lane_mask);
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

}  // namespace
}  // namespace predgen

#include "model/gpu/gpu_kernels.cuh"

namespace predgen {

const GpuKernels& emulated_kernels(ThreadOrder order) {
  static const GpuKernels kernels =
      kernels_with([]() -> const char* { return nullptr; }, [] { return GpuSupport{}; });
  order_of_threads = order;
  return kernels;
}

int64_t num_emulated_launches() { return num_launches; }

}  // namespace predgen
