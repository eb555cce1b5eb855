#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/model/gpu/emulated_block.h"

namespace predgen {

/// Accesses of whole warps to shared memory, by the bytes of a thread's access.
struct BankUse {
  int64_t accesses = 0;    // of a warp
  int64_t wavefronts = 0;  // that its lanes' banks take
  int64_t least = 0;       // that as many bytes take without conflicts
  int64_t conflicts() const { return wavefronts - least; }
};

struct EmulationReport {
  /// A line each, at most 20: two accesses without an order of which one writes, accesses that are
  /// not aligned, outside the memory that a block asked for, or of what a copy is still bringing.
  std::vector<std::string> problems;
  int64_t num_unwritten = 0;    // reads of shared memory that nobody in the block has written
  BankUse reads[5], writes[5];  // of 1 << i bytes
  int64_t num_accesses = 0;
};

/// While it exists, every access of kernels compiled with -fsanitize=thread is checked; their other
/// sources are not. What orders accesses: the order in a thread, __syncthreads(), __syncwarp(), and
/// an atomic operation after a __threadfence() with one before a __threadfence(). Shuffles and
/// products of tiles order nothing. One at a time.
class EmulationChecks {
 public:
  /// `seed`: of where threads are interrupted, about once in 64 accesses. 0: never.
  explicit EmulationChecks(uint64_t seed);
  ~EmulationChecks();
  EmulationChecks(const EmulationChecks&) = delete;
  EmulationChecks& operator=(const EmulationChecks&) = delete;

  EmulationReport report() const;

  class Watch;

 private:
  std::unique_ptr<Watch> watch_;
};

}  // namespace predgen
