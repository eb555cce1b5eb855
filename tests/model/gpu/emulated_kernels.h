#pragma once

#include "kernels/gpu/gpu_kernels.h"
#include "tests/model/gpu/emulated_block.h"

namespace predgen {

/// The source of the kernels for CUDA, run thread by thread on the CPU.
const GpuKernels& emulated_kernels(EmulatedSchedule schedule);

/// Launches so far.
int64_t num_emulated_launches();

}  // namespace predgen
