#pragma once

#include <sys/types.h>

#include <cstddef>

namespace predgen::train {

/// While it lives, the allocator (jemalloc; no effect without it) keeps the memory that tensors
/// free instead of returning it to the kernel: faulting it in again took a third of a step's time
/// on a CPU. The kept memory is bounded, as fragmentation makes some of it useless to the next
/// batch.
class FreedMemory {
 public:
  FreedMemory();
  ~FreedMemory();
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  /// Call when the process holds as much memory as any step needs.
  void set_bound();
  /// Between steps: returns all free memory if the process holds a quarter more than the bound.
  void trim();

 private:
  size_t bound_ = 0;  // bytes; 0: not set
  ssize_t usual_decay_ = 0;
};

}  // namespace predgen::train
