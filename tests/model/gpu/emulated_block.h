#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace predgen {

/// What CUDA calls threadIdx and blockIdx, of the thread that runs.
struct EmulatedIndex {
  unsigned x = 0, y = 0, z = 0;
};
extern EmulatedIndex thread_index, block_index;

/// In which order the threads of a block go on after they met, each warp as far as it comes. What a
/// kernel does must not depend on it.
enum class ThreadOrder { kAscending, kDescending };

/// How the blocks and threads of a launch take turns.
struct EmulatedSchedule {
  EmulatedSchedule(ThreadOrder an_order) : order(an_order) {}
  /// Up to `blocks` at the same time. Which thread of which block goes on is random; it is
  /// interrupted where it waits and by yield_in_emulation(). Only for programs in which
  /// `__shared__` is all that is thread_local.
  EmulatedSchedule(uint64_t random_seed, int blocks) : seed(random_seed), most_blocks(blocks) {}

  ThreadOrder order = ThreadOrder::kAscending;
  uint64_t seed = 0;
  int most_blocks = 1;  // 1: one after the other
};

struct EmulatedLaunch {
  int x = 1, y = 1, z = 1;  // blocks
  int num_threads = 0;      // of a block
  size_t memory_bytes = 0;  // dynamic_memory() of a block
};

/// Runs `kernel` as each thread of each block: on one CPU thread, each in a context of its own that
/// runs until it has to wait for others. Error if they wait for each other at different places, if
/// a warp exchanges values with threads that have ended, if a block writes beyond its memory, and
/// if a thread ends while copies are under way.
void run_emulated(const EmulatedLaunch& launch, const EmulatedSchedule& schedule,
                  const std::function<void()>& kernel);

// For the kernel's threads.

/// __syncthreads() and __syncwarp()
void sync_emulated_block();
void sync_emulated_warp();
/// Of the block: the bytes that were asked for.
std::span<char> emulated_memory();
/// Copies that this thread sent for and did not wait for, part by part.
struct EmulatedCopy {
  void* to;
  const void* from;  // null: zeros
};
std::deque<std::vector<EmulatedCopy>>& emulated_copies();
/// Lets other threads go on first.
void yield_in_emulation();

/// Waits for the thread's warp; returns what each of its lanes gives, which is valid until the next
/// wait. Unlike sync_emulated_warp(), it orders no accesses to memory.
const void* const* give_to_emulated_warp(const void* given);
void await_takers_in_emulated_warp();

/// What a whole warp exchanges: `visit` is called with what each lane gives, while all lanes wait.
template <class Visit>
void exchange_in_emulated_warp(const void* given, const Visit& visit) {
  visit(give_to_emulated_warp(given));
  await_takers_in_emulated_warp();  // nobody gives anew before all have taken
}

/// Is told where threads wait for each other.
class EmulationWatch {
 public:
  virtual ~EmulationWatch() = default;
  virtual void begin_launch(int num_threads) = 0;
  virtual void end_launch() = 0;
  virtual void begin_block(int block) = 0;
  virtual void end_block(int block) = 0;
  /// Threads [begin,end) of a block have met, at a barrier.
  virtual void meet(int block, int begin, int end) = 0;
};
/// Null: nobody is told.
void watch_emulation(EmulationWatch* watch);

/// The thread that runs. No block: none does.
struct EmulatedThread {
  int block = -1, thread = 0;
  std::span<const char> stack;
};
EmulatedThread running_in_emulation();
/// The static `__shared__` variables, in a program that has no other thread_local ones.
std::span<char> emulated_shared_variables();

}  // namespace predgen
