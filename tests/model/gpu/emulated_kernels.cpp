#include "tests/model/gpu/emulated_kernels.h"

#include <map>

#include "tests/model/gpu/emulated_cuda.h"

namespace predgen {
namespace {

EmulatedSchedule schedule_of_launches = ThreadOrder::kAscending;
int64_t num_launches;
std::map<const void*, int> most_bytes;  // by kernel

template <int kMostBytes, class Kernel, class Grid, class Args>
void launch_with_memory(Kernel kernel, const Grid& grid, int threads, int bytes, void*,
                        const Args& args) {
  PREDGEN_CHECK(grid.x > 0 && grid.y > 0 && grid.y < 65536 && grid.z > 0 && grid.z < 65536,
                "a grid of {} x {} x {} blocks", grid.x, grid.y, grid.z);
  PREDGEN_CHECK(bytes <= kMostBytes, "{} bytes of {}", bytes, kMostBytes);
  // Threads of several models launch a kernel: what one asks of the driver must do for the others.
  const auto [most, is_first] =
      most_bytes.emplace(reinterpret_cast<const void*>(kernel), kMostBytes);
  PREDGEN_CHECK(most->second == kMostBytes, "{} bytes of {}", kMostBytes, most->second);
  ++num_launches;
  run_emulated({.x = grid.x,
                .y = grid.y,
                .z = grid.z,
                .num_threads = threads,
                .memory_bytes = static_cast<size_t>(bytes)},
               schedule_of_launches, [&] { kernel(args); });
}

template <class Kernel, class Grid, class Args>
void launch(Kernel kernel, const Grid& grid, int threads, void* stream, const Args& args) {
  launch_with_memory<0>(kernel, grid, threads, 0, stream, args);
}

}  // namespace
}  // namespace predgen

#include "kernels/gpu/gpu_kernels.cuh"

namespace predgen {

const GpuKernels& emulated_kernels(EmulatedSchedule schedule) {
  static const GpuKernels kernels =
      kernels_with([]() -> const char* { return nullptr; }, [](int) { return GpuSupport{}; });
  schedule_of_launches = schedule;
  return kernels;
}

int64_t num_emulated_launches() { return num_launches; }

}  // namespace predgen
