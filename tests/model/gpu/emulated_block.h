#pragma once

#include <cstdint>
#include <functional>

namespace predgen {

/// What CUDA calls threadIdx and blockIdx, of the thread that runs.
struct EmulatedIndex {
  unsigned x = 0, y = 0, z = 0;
};
extern EmulatedIndex thread_index, block_index;

/// In which order the threads of a block go on after they met, each warp as far as it comes. What a
/// kernel does must not depend on it.
enum class ThreadOrder { kAscending, kDescending };

/// Runs `kernel` as each thread of a block: on one CPU thread, each in a context of its own that
/// runs until it has to wait for others. Error if they wait for each other at different places.
void run_emulated_block(int num_threads, ThreadOrder order, const std::function<void()>& kernel);

/// For the kernel's threads: __syncthreads() and __syncwarp().
void sync_emulated_block();
void sync_emulated_warp();

/// Waits for the thread's warp; returns what each of its lanes gives, which is valid until the next
/// wait.
const void* const* give_to_emulated_warp(const void* given);

/// What a whole warp exchanges: `visit` is called with what each lane gives, while all lanes wait.
template <class Visit>
void exchange_in_emulated_warp(const void* given, const Visit& visit) {
  visit(give_to_emulated_warp(given));
  sync_emulated_warp();  // nobody gives anew before all have taken
}

}  // namespace predgen
