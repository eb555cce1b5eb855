#include "tests/model/gpu/planted_kernels.h"

#include <vector>

#include "tests/model/gpu/emulated_cuda.h"

namespace predgen {
namespace {

struct PlantedSum {
  KernelFault fault;
  const float* x;
  float* parts;  // [blocks], then the sum
  int* counter;
};

struct alignas(16) Four {
  float values[4];
};

__global__ void planted_kernel(PlantedSum a) {
  __shared__ bool is_last;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  char* const memory = dynamic_memory();
  auto* const fours = reinterpret_cast<Four*>(memory);
  copy_ahead(fours + thread, a.x + (block * kPlantedThreads + thread) * 4, true);
  end_copies();
  if (a.fault != KernelFault::kEarlyCopies) await_copies<0>();
  if (a.fault != KernelFault::kNoBarrier) __syncthreads();
  if (a.fault == KernelFault::kUnaligned) {
    const uint2 two = *reinterpret_cast<const uint2*>(memory + 4 + thread * 8);
    if (two.x == two.y) a.parts[block] = 0.0f;
    __syncthreads();
  }
  auto* const sums = reinterpret_cast<float*>(fours + kPlantedThreads);
  const int stride = a.fault == KernelFault::kConflicts ? 8 : 1;
  const int beyond = a.fault == KernelFault::kTooMuchMemory ? kPlantedThreads * 8 : 0;
  const Four four = fours[(thread + 1) % kPlantedThreads];
  sums[thread * stride + beyond] =
      four.values[0] + four.values[1] + four.values[2] + four.values[3];
  await_copies<0>();
  __syncthreads();
  if (thread == 0) {
    float total = 0.0f;
    for (int i = 0; i < kPlantedThreads + (a.fault == KernelFault::kUnwritten ? 1 : 0); ++i) {
      total += sums[i * stride + beyond];
    }
    a.parts[block] = total;
    if (a.fault != KernelFault::kNoFenceBefore) __threadfence();
    const int before = atomicAdd(a.counter, 1);
    if (a.fault == KernelFault::kOrderOfArrival) {
      __threadfence();
      a.parts[kPlantedBlocks] = (before == 0 ? 0.0f : a.parts[kPlantedBlocks]) + total;
      __threadfence();
    }
    is_last = before == kPlantedBlocks - 1;
  }
  __syncthreads();
  if (!is_last || thread != 0) return;
  if (a.fault != KernelFault::kNoFenceBehind) __threadfence();
  if (a.fault != KernelFault::kOrderOfArrival) {
    float sum = 0.0f;
    for (int i = 0; i < kPlantedBlocks; ++i) sum += a.parts[i];
    a.parts[kPlantedBlocks] = sum;
  }
  if (a.fault != KernelFault::kNoReset) *a.counter = 0;
}

}  // namespace

float planted_sum(KernelFault fault, std::span<const float> x, int* counter,
                  EmulatedSchedule schedule) {
  std::vector<float> parts(kPlantedBlocks + 1);
  const PlantedSum a{.fault = fault, .x = x.data(), .parts = parts.data(), .counter = counter};
  // Of the conflicts' strides; one without faults needs less.
  run_emulated({.x = kPlantedBlocks,
                .num_threads = kPlantedThreads,
                .memory_bytes = kPlantedThreads * (sizeof(Four) + 8 * sizeof(float))},
               schedule, [&] { planted_kernel(a); });
  return parts.back();
}

}  // namespace predgen
