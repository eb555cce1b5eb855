// Compiled once for each fault, PLANTED, with a folder of sources that have it.
#include "tests/model/gpu/planted_product.h"

#include "tests/model/gpu/emulated_cuda.h"

namespace predgen {
namespace {

template <int kMostBytes, class Kernel, class Grid, class Args>
void launch_with_memory(Kernel kernel, const Grid& grid, int threads, int bytes, void* schedule,
                        const Args& args) {
  run_emulated({.x = grid.x,
                .y = grid.y,
                .z = grid.z,
                .num_threads = threads,
                .memory_bytes = static_cast<size_t>(bytes)},
               *static_cast<EmulatedSchedule*>(schedule), [&] { kernel(args); });
}

}  // namespace
}  // namespace predgen

#include "kernels/gpu/gpu_attention.cuh"
#include "kernels/gpu/gpu_wide_product.cuh"

namespace predgen {

template <>
void planted_product<ProductFault::PLANTED>(const GpuGroupProduct& product,
                                            EmulatedSchedule schedule) {
  using enum GpuScaling;
  const bool has_five = product.bits == 5;
  const auto launch = product.scaling == kSixBits ? launch_wide_product<4, false, kSixBits, 0, 2>
                      : product.scaling == kExponents
                          ? launch_wide_product<4, false, kExponents, 1, 2>
                      : product.scaling == kHalf ? launch_wide_product<5, false, kHalf, 0, 2>
                      : has_five                 ? launch_wide_product<5, false, kHalfOffsets, 0, 2>
                                 : launch_wide_product<4, false, kHalfOffsets, 0, 2>;
  launch(product, &schedule);
}

template <>
void planted_attend<ProductFault::PLANTED>(const GpuAttention& attention,
                                           EmulatedSchedule schedule) {
  const Grid grid{attention.num_splits, attention.num_key_heads, attention.num_tiles};
  launch_with_memory<0>(attend_kernel<float>, grid, kAttendThreads, 0, &schedule, attention);
}

}  // namespace predgen
