#pragma once

#include <span>

#include "tests/model/gpu/emulated_block.h"

namespace predgen {

/// What is wrong with a sum that several blocks share: the last one to arrive adds up their parts.
enum class KernelFault {
  kNone,
  kNoFenceBefore,  // what the others read may not be there yet
  kNoFenceBehind,  // what the others wrote may not be seen yet
  kNoReset,        // of the counter, for the next launch
  kOrderOfArrival,
  kNoBarrier,
  kEarlyCopies,  // read before they are there
  kConflicts,    // of banks
  kTooMuchMemory,
  kUnaligned,
  kUnwritten,  // shared memory is read
};

constexpr int kPlantedBlocks = 6, kPlantedThreads = 64;
constexpr int kPlantedInputs = kPlantedBlocks * kPlantedThreads * 4;

/// The sum of kPlantedInputs values, at a multiple of 16 bytes. `counter`: 0 at first.
float planted_sum(KernelFault fault, std::span<const float> x, int* counter,
                  EmulatedSchedule schedule);

}  // namespace predgen
