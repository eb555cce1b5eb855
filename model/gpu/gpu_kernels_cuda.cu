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
namespace {

const char* text_of(cudaError_t status) {
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

/// Whether one of the kernels can be loaded says it for all: they are in one module.
GpuSupport ask() {
  GpuSupport support;
  cudaDriverGetVersion(&support.driver);
  cudaRuntimeGetVersion(&support.needed);
  cudaFuncAttributes attributes;
  support.error = text_of(cudaFuncGetAttributes(&attributes, merge_kernel<Bfloat16>));
  cudaGetLastError();  // forgotten: launches are asked for theirs
  return support;
}

}  // namespace

const GpuKernels* compiled_kernels() {
  static const GpuKernels kernels = kernels_with([] { return text_of(cudaGetLastError()); }, ask);
  return &kernels;
}

}  // namespace predgen
