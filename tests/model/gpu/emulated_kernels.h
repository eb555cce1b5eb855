#pragma once

#include <vector>

#include "kernels/gpu/gpu_kernels.h"
#include "tests/model/gpu/emulated_block.h"

namespace predgen {

/// The source of the kernels for CUDA, run thread by thread on the CPU.
const GpuKernels& emulated_kernels(EmulatedSchedule schedule);

/// Launches so far.
int64_t num_emulated_launches();
/// What kernels have fetched to the L2 cache since the last call, in order.
std::vector<const void*> take_fetched();

}  // namespace predgen
