#include "tests/model/gpu/emulated_block.h"

#include <link.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/error.h"

namespace predgen {

EmulatedIndex thread_index, block_index;

namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr size_t kGuardBytes = 4096;  // behind a block's memory, where nothing may be written
constexpr char kUntouched = 0x5A;
constexpr int kWarpThreads = 32;

enum class State { kRuns, kAtWarp, kGives, kAtBlock, kEnded };

/// One of a block, then of another one. Its context is entered once; from then on jumps, which
/// make no system call, go back and forth.
struct Thread {
  ucontext_t context{};
  jmp_buf place;
  std::unique_ptr<char[]> stack;
  State state = State::kRuns;
  std::deque<std::vector<EmulatedCopy>> copies;
};

struct Block {
  int number = 0;
  EmulatedIndex index;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<const void*> given;  // by each thread to the others of its warp
  std::unique_ptr<char[]> memory;
  char* aligned = nullptr;  // in memory
  size_t memory_bytes = 0;
  std::vector<char> shared;  // its __shared__ variables while other blocks run
};

std::vector<std::unique_ptr<Thread>> idle;
Block* running;          // null: no thread runs
Block* shown = nullptr;  // whose __shared__ variables are in their place
size_t current;
ucontext_t first_scheduler;
jmp_buf scheduler;
const std::function<void()>* body;
EmulationWatch* watch = nullptr;

void wait_at(State state) {
  Thread& thread = *running->threads[current];
  thread.state = state;
  if (_setjmp(thread.place) == 0) _longjmp(scheduler, 1);
}

void run_thread() {
  for (;;) {
    (*body)();
    wait_at(State::kEnded);
  }
}

void enter(Thread& thread) {
  if (_setjmp(scheduler) != 0) return;
  if (thread.stack) _longjmp(thread.place, 1);
  thread.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  makecontext(&thread.context, run_thread, 0);
  swapcontext(&first_scheduler, &thread.context);
}

void resume(Block& block, size_t thread) {
  current = thread;
  thread_index.x = static_cast<unsigned>(thread);
  block_index = block.index;
  running = &block;
  enter(*block.threads[thread]);
  running = nullptr;
}

/// Lets threads [begin, end) go on if all that have not ended wait in `state`.
bool release(Block& block, size_t begin, size_t end, State state) {
  bool waits = false, has_ended = false;
  for (size_t i = begin; i < end; ++i) {
    const State found = block.threads[i]->state;
    has_ended = has_ended || found == State::kEnded;
    if (found == State::kEnded) continue;
    if (found != state) return false;
    waits = true;
  }
  PREDGEN_CHECK(!waits || !has_ended || state != State::kGives,
                "threads {} to {} exchange values, but not all are there", begin, end);
  for (size_t i = begin; i < end; ++i) {
    if (block.threads[i]->state == state) block.threads[i]->state = State::kRuns;
  }
  if (waits && watch != nullptr && state != State::kGives) {
    watch->meet(block.number, static_cast<int>(begin), static_cast<int>(end));
  }
  return waits;
}

bool release_warp(Block& block, size_t begin, size_t end) {
  return release(block, begin, end, State::kAtWarp) || release(block, begin, end, State::kGives);
}

/// [0, count) in the order of threads.
size_t in_order(size_t i, size_t count, ThreadOrder order) {
  return order == ThreadOrder::kAscending ? i : count - 1 - i;
}

/// Lets a warp's threads go on until they wait for other warps or have ended.
void run_warp(Block& block, size_t begin, size_t end, ThreadOrder order) {
  do {
    for (size_t i = 0; i < end - begin; ++i) {
      const size_t thread = begin + in_order(i, end - begin, order);
      while (block.threads[thread]->state == State::kRuns) resume(block, thread);
    }
  } while (release_warp(block, begin, end));
}

bool has_ended(const Block& block) {
  return std::ranges::all_of(block.threads,
                             [](const auto& thread) { return thread->state == State::kEnded; });
}

std::unique_ptr<Block> make_block(const EmulatedLaunch& launch, int number) {
  auto block = std::make_unique<Block>();
  block->number = number;
  block->index = {static_cast<unsigned>(number % launch.x),
                  static_cast<unsigned>(number / launch.x % launch.y),
                  static_cast<unsigned>(number / launch.x / launch.y)};
  while (std::ssize(block->threads) < launch.num_threads) {
    if (idle.empty()) idle.push_back(std::make_unique<Thread>());
    block->threads.push_back(std::move(idle.back()));
    idle.pop_back();
    block->threads.back()->state = State::kRuns;
    block->threads.back()->copies.assign(1, {});
  }
  block->given.resize(block->threads.size());
  block->memory_bytes = launch.memory_bytes;
  if (launch.memory_bytes > 0) {
    constexpr size_t kAlignment = 1024;  // as a GPU gives it
    block->memory =
        std::make_unique_for_overwrite<char[]>(launch.memory_bytes + kGuardBytes + kAlignment);
    const auto begin = reinterpret_cast<uintptr_t>(block->memory.get());
    block->aligned = block->memory.get() + (kAlignment - begin % kAlignment);
    memset(block->aligned, 0xFF, launch.memory_bytes);  // NaN in every type
    memset(block->aligned + launch.memory_bytes, kUntouched, kGuardBytes);
  }
  if (watch != nullptr) watch->begin_block(number);
  return block;
}

void end(Block& block) {
  if (watch != nullptr) watch->end_block(block.number);
  for (auto& thread : block.threads) {
    PREDGEN_CHECK(
        std::ranges::all_of(thread->copies, [](const auto& part) { return part.empty(); }),
        "a thread of block {} ends before its copies", block.number);
    idle.push_back(std::move(thread));
  }
  if (block.memory_bytes == 0) return;
  const char* const guard = block.aligned + block.memory_bytes;
  PREDGEN_CHECK(std::all_of(guard, guard + kGuardBytes, [](char c) { return c == kUntouched; }),
                "block {} writes beyond the {} bytes that it asked for", block.number,
                block.memory_bytes);
}

void run_in_order(Block& block, ThreadOrder order) {
  const size_t count = block.threads.size();
  const size_t num_warps = (count + kWarpThreads - 1) / kWarpThreads;
  do {
    for (size_t i = 0; i < num_warps; ++i) {
      const size_t begin = in_order(i, num_warps, order) * kWarpThreads;
      run_warp(block, begin, std::min(begin + kWarpThreads, count), order);
    }
  } while (release(block, 0, count, State::kAtBlock));
  PREDGEN_CHECK(has_ended(block), "threads of block {} wait for others, which do not",
                block.number);
}

/// Puts a block's __shared__ variables in their place.
void show(Block& block) {
  if (shown == &block) return;
  const std::span<char> variables = emulated_shared_variables();
  if (shown != nullptr) shown->shared.assign(variables.begin(), variables.end());
  if (block.shared.empty()) {
    memset(variables.data(), 0xFF, variables.size());
  } else {
    std::ranges::copy(block.shared, variables.begin());
  }
  shown = &block;
}

/// A random thread of a random block goes on.
bool run_any(std::span<const std::unique_ptr<Block>> blocks, std::mt19937_64& random) {
  const size_t first_block = random() % blocks.size();
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block& block = *blocks[(first_block + i) % blocks.size()];
    const size_t count = block.threads.size(), first = random() % count;
    for (size_t k = 0; k < count; ++k) {
      const size_t thread = (first + k) % count;
      if (block.threads[thread]->state != State::kRuns) continue;
      show(block);
      resume(block, thread);
      const size_t begin = thread - thread % kWarpThreads;
      release_warp(block, begin, std::min(begin + kWarpThreads, count));
      release(block, 0, count, State::kAtBlock);
      return true;
    }
  }
  return false;
}

void run_at_once(const EmulatedLaunch& launch, const EmulatedSchedule& schedule) {
  std::mt19937_64 random(schedule.seed);
  std::vector<std::unique_ptr<Block>> blocks;
  shown = nullptr;
  for (int next = 0, count = launch.x * launch.y * launch.z;;) {
    for (; next < count && std::ssize(blocks) < schedule.most_blocks; ++next) {
      blocks.push_back(make_block(launch, next));
    }
    if (blocks.empty()) return;
    PREDGEN_CHECK(run_any(blocks, random), "threads of {} blocks wait for each other",
                  blocks.size());
    std::erase_if(blocks, [](const auto& block) {
      if (!has_ended(*block)) return false;
      if (shown == block.get()) shown = nullptr;
      end(*block);
      return true;
    });
  }
}

}  // namespace

void run_emulated(const EmulatedLaunch& launch, const EmulatedSchedule& schedule,
                  const std::function<void()>& kernel) {
  body = &kernel;
  if (watch != nullptr) watch->begin_launch(launch.num_threads);
  if (schedule.most_blocks > 1) {
    run_at_once(launch, schedule);
  } else {
    for (int number = 0; number < launch.x * launch.y * launch.z; ++number) {
      const std::unique_ptr<Block> block = make_block(launch, number);
      run_in_order(*block, schedule.order);
      end(*block);
    }
  }
  if (watch != nullptr) watch->end_launch();
}

void sync_emulated_block() { wait_at(State::kAtBlock); }

void sync_emulated_warp() { wait_at(State::kAtWarp); }

void yield_in_emulation() { wait_at(State::kRuns); }

std::deque<std::vector<EmulatedCopy>>& emulated_copies() {
  return running->threads[current]->copies;
}

std::span<char> emulated_memory() { return {running->aligned, running->memory_bytes}; }

const void* const* give_to_emulated_warp(const void* by_this_thread) {
  const size_t me = current;
  Block& block = *running;
  block.given[me] = by_this_thread;
  wait_at(State::kGives);
  return block.given.data() + (me - me % kWarpThreads);
}

void await_takers_in_emulated_warp() { wait_at(State::kGives); }

void watch_emulation(EmulationWatch* new_watch) { watch = new_watch; }

EmulatedThread running_in_emulation() {
  if (running == nullptr) return {};
  return {.block = running->number,
          .thread = static_cast<int>(current),
          .stack = {running->threads[current]->stack.get(), kStackBytes}};
}

std::span<char> emulated_shared_variables() {
  static const std::span<char> found = [] {
    std::span<char> variables;
    dl_iterate_phdr(
        [](dl_phdr_info* program, size_t, void* to) {
          for (int i = 0; i < program->dlpi_phnum; ++i) {
            if (program->dlpi_phdr[i].p_type != PT_TLS) continue;
            *static_cast<std::span<char>*>(to) = {static_cast<char*>(program->dlpi_tls_data),
                                                  program->dlpi_phdr[i].p_memsz};
          }
          return 1;  // the first one is this program
        },
        &variables);
    return variables;
  }();
  return found;
}

}  // namespace predgen
