#pragma once

#include <string>

#include "model/gpu/gpu_kernels.h"

namespace predgen {

/// The driver that there is and the one that is needed, for a sentence; empty if it is new enough.
std::string driver_problem(const GpuSupport& support);

/// Why kernels cannot run here, in one line; empty: they can.
std::string kernel_problem(const GpuSupport& support);

/// `compiled` if they can run on the current device; else null, and one line in the log says why
/// (none where nothing was compiled).
const GpuKernels* usable_kernels(const GpuKernels* compiled);

/// Our kernels for CUDA, or null where they cannot run: asked once, when a model or a weight first
/// comes to a GPU.
const GpuKernels* cuda_kernels();
/// The same where they have products with weights in 4 and 8 bits: compute capability 8.0.
const GpuKernels* group_kernels();

}  // namespace predgen
