// The kernels of gpu_kernels.h as nvcc compiles them.
#include <cuda_runtime.h>

namespace predgen {
namespace {

template <class Kernel, class Grid, class Args>
void launch(Kernel kernel, const Grid& grid, int threads, void* stream, const Args& args) {
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                    static_cast<unsigned>(grid.z));
  kernel<<<blocks, static_cast<unsigned>(threads), 0, static_cast<cudaStream_t>(stream)>>>(args);
}

}  // namespace
}  // namespace predgen

#include "model/gpu/gpu_kernels.cuh"

namespace predgen {

const GpuKernels* cuda_kernels() {
  static const GpuKernels kernels = kernels_with([]() -> const char* {
    const cudaError_t status = cudaGetLastError();
    return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
  });
  return &kernels;
}

}  // namespace predgen
