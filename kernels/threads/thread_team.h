#pragma once

#include <c10/util/FunctionRef.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/mutex.h"

namespace predgen {

/// Decides how many threads run a team's next round: all, or for a while only its caller, which is
/// faster when other programs hold the other cores for most of a round. Used by one thread.
class TeamWidth {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kMostAlone = std::chrono::seconds(1);

  /// `most_alone`: the longest time that the caller runs alone; 0: never.
  explicit TeamWidth(int size, Clock::duration most_alone = kMostAlone)
      : size_(size), most_alone_(most_alone) {}
  /// `now`: the start of the round.
  int next(Clock::time_point now) const { return now < alone_until_ ? 1 : size_; }
  /// After a round of all that ended at `now`: its duration, and how long its caller slept.
  void took(Clock::time_point now, Clock::duration whole, Clock::duration asleep);

 private:
  const int size_;
  const Clock::duration most_alone_;
  Clock::time_point alone_until_{};
};

/// Threads that run a pass together and meet at barriers between its parts, which are too short to
/// be dispatched one by one. A thread that waits, for the others or for the next pass, spins
/// briefly, then sleeps: the thread it waits for may have lost its core to another program and
/// needs one freed by a sleeper. After rounds spent mostly asleep, the caller runs some alone
/// (TeamWidth). Used by one thread at a time.
class ThreadTeam {
 public:
  /// `size`: threads, the caller's included; at least 1. `most_alone`: see TeamWidth.
  explicit ThreadTeam(int size, TeamWidth::Clock::duration most_alone = TeamWidth::kMostAlone);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }
  /// Threads of this round, at most size(). Call from within run().
  int width() const { return width_; }
  /// Calls `work(i)` for i in [0,width), each on its own thread, the caller's as 0; returns when
  /// all have ended. `work` must not throw.
  void run(c10::function_ref<void(int)> work);
  /// A barrier: called by each thread within run(); returns when all have arrived.
  void meet();

 private:
  void serve(int index);
  /// Returns once `word` is no longer `value`; it is changed by change().
  void wait_while(const std::atomic<int>& word, int value);
  void change(std::atomic<int>& word, int value);

  const int size_;
  int width_ = 1;
  TeamWidth next_width_;
  const c10::function_ref<void(int)>* work_ = nullptr;
  std::atomic<int> round_ = 0;  // of run(); negative: over
  std::atomic<int> arrived_ = 0, meeting_ = 0;
  std::atomic<int> num_asleep_ = 0;
  Mutex mutex_;  // guards only sleep: the awaited words are atomic
  std::condition_variable changed_;
  std::vector<std::jthread> threads_;
};

/// Calls work(begin, end) for parts of [0,count) of about `grain` >= 1 or more, on as many threads
/// as LibTorch is set to use, and returns when all have ended. Rethrows the first exception of
/// `work`; parts that have not begun by then are left out. Replaces at::parallel_for, which runs on
/// one thread in programs not compiled for OpenMP. Callable from any thread, also within `work`: a
/// caller that does not get the program's team of threads runs everything itself.
void parallel_ranges(int64_t count, int64_t grain,
                     const std::function<void(int64_t, int64_t)>& work);

}  // namespace predgen
