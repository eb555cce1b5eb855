#include "tests/model/gpu/emulated_block.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/error.h"

namespace predgen {

EmulatedIndex thread_index, block_index;

namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr int kWarpThreads = 32;

enum class State { kRuns, kAtWarp, kAtBlock, kEnded };

/// One of a block, then of the next one. Its context is entered once; from then on jumps, which
/// make no system call, go back and forth.
struct Thread {
  ucontext_t context{};
  jmp_buf place;
  std::unique_ptr<char[]> stack;
  State state = State::kEnded;
};

std::vector<std::unique_ptr<Thread>> threads;
std::vector<const void*> given;  // by each thread to the others of its warp
size_t current;
ucontext_t first_scheduler;
jmp_buf scheduler;
const std::function<void()>* body;

void wait_at(State state) {
  Thread& thread = *threads[current];
  thread.state = state;
  if (_setjmp(thread.place) == 0) _longjmp(scheduler, 1);
}

void run_thread() {
  for (;;) {
    (*body)();
    wait_at(State::kEnded);
  }
}

void resume(Thread& thread) {
  if (_setjmp(scheduler) != 0) return;
  if (thread.stack) _longjmp(thread.place, 1);
  thread.stack = std::make_unique<char[]>(kStackBytes);
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  makecontext(&thread.context, run_thread, 0);
  swapcontext(&first_scheduler, &thread.context);
}

/// Lets threads [begin, end) go on if all that have not ended wait in `state`.
bool release(size_t begin, size_t end, State state) {
  bool waits = false;
  for (size_t i = begin; i < end; ++i) {
    if (threads[i]->state == State::kEnded) continue;
    if (threads[i]->state != state) return false;
    waits = true;
  }
  for (size_t i = begin; i < end; ++i) {
    if (threads[i]->state == state) threads[i]->state = State::kRuns;
  }
  return waits;
}

/// [0, count) in the order of threads.
size_t in_order(size_t i, size_t count, ThreadOrder order) {
  return order == ThreadOrder::kAscending ? i : count - 1 - i;
}

/// Lets a warp's threads go on until they wait for other warps or have ended.
void run_warp(size_t begin, size_t end, ThreadOrder order) {
  do {
    for (size_t i = 0; i < end - begin; ++i) {
      current = begin + in_order(i, end - begin, order);
      if (threads[current]->state != State::kRuns) continue;
      thread_index.x = static_cast<unsigned>(current);
      resume(*threads[current]);
    }
  } while (release(begin, end, State::kAtWarp));
}

}  // namespace

void run_emulated_block(int num_threads, ThreadOrder order, const std::function<void()>& kernel) {
  const auto count = static_cast<size_t>(num_threads);
  body = &kernel;
  while (threads.size() < count) threads.push_back(std::make_unique<Thread>());
  given.resize(threads.size());
  for (size_t i = 0; i < count; ++i) threads[i]->state = State::kRuns;
  const size_t num_warps = (count + kWarpThreads - 1) / kWarpThreads;
  do {
    for (size_t i = 0; i < num_warps; ++i) {
      const size_t begin = in_order(i, num_warps, order) * kWarpThreads;
      run_warp(begin, std::min(begin + kWarpThreads, count), order);
    }
  } while (release(0, count, State::kAtBlock));
  for (size_t i = 0; i < count; ++i) {
    PREDGEN_CHECK(threads[i]->state == State::kEnded, "thread {} waits for others, which do not",
                  i);
  }
}

void sync_emulated_block() { wait_at(State::kAtBlock); }

void sync_emulated_warp() { wait_at(State::kAtWarp); }

const void* const* give_to_emulated_warp(const void* by_this_thread) {
  const size_t me = current;
  given[me] = by_this_thread;
  wait_at(State::kAtWarp);
  return given.data() + (me - me % kWarpThreads);
}

}  // namespace predgen
