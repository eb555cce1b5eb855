#pragma once

#include <sys/types.h>

#include <cstddef>

namespace predgen::train {

/// While it lives, the allocator (jemalloc; nothing happens without it) keeps the memory that
/// tensors free instead of giving it back to the kernel: to fault it in again took a third of the
/// time of a step on a CPU. What is kept is bounded, as free memory is cut into sizes that the next
/// batch cannot use.
class FreedMemory {
 public:
  FreedMemory();
  ~FreedMemory();
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  /// The process now holds as much memory as any step needs.
  void set_bound();
  /// Between steps: gives all free memory back if the process holds a quarter more than that.
  void trim();

 private:
  size_t bound_ = 0;  // bytes; 0: not set
  ssize_t usual_decay_ = 0;
};

}  // namespace predgen::train
