#include "model/cpu/thread_team.h"

#include "core/error.h"

namespace predgen {
namespace {

constexpr int kLooks = 4000;  // about a tenth of a millisecond
constexpr int kOver = -1;     // a round that is none

/// Whether it holds within so many looks.
template <class Condition>
bool spin_until(const Condition& holds) {
  for (int i = 0; i < kLooks; ++i) {
    if (holds()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return holds();
}

}  // namespace

ThreadTeam::ThreadTeam(int size) : size_(size) {
  PREDGEN_CHECK(size >= 1, "a team of {} threads", size);
  for (int i = 1; i < size; ++i) {
    threads_.emplace_back([this, i] { serve(i); });
  }
}

ThreadTeam::~ThreadTeam() {
  round_.store(kOver, std::memory_order_release);
  round_.notify_all();
}

void ThreadTeam::run(c10::function_ref<void(int)> work) {
  if (size_ == 1) return work(0);
  work_ = &work;
  round_.store((round_.load(std::memory_order_relaxed) + 1) & 0x3FFFFFFF,
               std::memory_order_release);
  round_.notify_all();
  work(0);
  meet();  // `work` ends with this call
}

void ThreadTeam::meet() {
  if (size_ == 1) return;
  const int meeting = meeting_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    meeting_.store((meeting + 1) & 0x3FFFFFFF, std::memory_order_release);
    return;
  }
  const auto is_over = [&] { return meeting_.load(std::memory_order_acquire) != meeting; };
  while (!spin_until(is_over)) std::this_thread::yield();
}

void ThreadTeam::serve(int index) {
  for (int done = 0;;) {
    const auto has_next = [&] { return round_.load(std::memory_order_acquire) != done; };
    while (!spin_until(has_next)) round_.wait(done, std::memory_order_acquire);
    done = round_.load(std::memory_order_acquire);
    if (done == kOver) return;
    (*work_)(index);
    meet();
  }
}

}  // namespace predgen
