// In place of gpu_kernels_cuda.cu where there is no nvcc.
#include "model/gpu/gpu_kernels.h"

namespace predgen {

const GpuKernels* compiled_kernels() { return nullptr; }

}  // namespace predgen
