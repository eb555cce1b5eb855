#pragma once

#include <string>

#include "kernels/gpu/gpu_kernels.h"

namespace predgen {

/// Names the installed and the required driver, for a message; empty if it is new enough.
std::string driver_problem(const GpuSupport& support);

/// Why kernels cannot run here, in one line; empty if they can.
std::string kernel_problem(const GpuSupport& support);

/// `compiled` if they can run on the current device; else null, and one log line says why (none if
/// nothing was compiled).
const GpuKernels* usable_kernels(const GpuKernels* compiled);

/// Our CUDA kernels, or null if they cannot run: checked once, when a model or a weight is first
/// put on a GPU.
const GpuKernels* cuda_kernels();
/// The same if they support products with 4- and 8-bit weights: compute capability 8.0.
const GpuKernels* group_kernels();

}  // namespace predgen
