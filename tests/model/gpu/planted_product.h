#pragma once

#include "kernels/gpu/gpu_kernels.h"
#include "tests/model/gpu/emulated_block.h"

namespace predgen {

/// What is wrong with a product of many rows, or with attention. CMakeLists.txt changes the
/// kernel's source for each.
enum class ProductFault {
  kNoFenceBefore,  // what the others read may not be there yet
  kNoFenceBehind,  // what the others wrote may not be seen yet
  kNoReset,        // of the counter, for the next launch
  kOrderOfArrival,
  kNoBarrier,
  kEarlyTotals,  // of inputs that are not there yet
  kOneTotal,     // overwritten while it is read
  kConflicts,    // of banks
  kOtherFactor,  // a group of a block takes another one's
  kOtherBlock,   // a chunk takes another block's numbers
  kNoFifthBit,
  kNoCentre,       // codes of 5 bits count from 0
  kOtherExponent,  // an output takes another one's
  kEarlyMerge      // of attention's splits, before the last one
};

/// A product of 9 to 16 rows in 4 bits, with offsets and whole groups, of blocks or with exponents,
/// or in 5 bits.
template <ProductFault kFault>
void planted_product(const GpuGroupProduct& product, EmulatedSchedule schedule);

/// In float32.
template <ProductFault kFault>
void planted_attend(const GpuAttention& attention, EmulatedSchedule schedule);

}  // namespace predgen
