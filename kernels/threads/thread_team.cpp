#include "kernels/threads/thread_team.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>

#include "core/error.h"
#include "core/mutex.h"

namespace predgen {
namespace {

constexpr std::chrono::microseconds kLooking{50};  // longer than most waits, far below a time slice
constexpr int kLooksAtOnce = 32;
// How long the caller runs alone, in multiples of the late round's time: then one round of all
// threads tests whether the cores are free again.
constexpr int kRoundsAlone = 16;
constexpr int kOver = -1;  // not a round

using Clock = TeamWidth::Clock;

thread_local Clock::duration t_asleep{};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void TeamWidth::took(Clock::time_point now, Clock::duration whole, Clock::duration asleep) {
  // Alone, the caller would have done `size_` times the work it did while awake.
  if ((whole - asleep) * size_ >= whole) return;
  alone_until_ = now + std::min(kRoundsAlone * whole, most_alone_);
}

ThreadTeam::ThreadTeam(int size, Clock::duration most_alone)
    : size_(size), next_width_(size, most_alone) {
  PREDGEN_CHECK(size >= 1, "a team of {} threads", size);
  try {
    for (int i = 1; i < size; ++i) {
      threads_.emplace_back([this, i] { serve(i); });
    }
  } catch (...) {
    change(round_, kOver);  // threads already started are joined
    throw;
  }
}

ThreadTeam::~ThreadTeam() { change(round_, kOver); }

void ThreadTeam::run(c10::function_ref<void(int)> work) {
  const Clock::time_point begin = Clock::now();
  width_ = next_width_.next(begin);
  if (width_ == 1) return work(0);
  work_ = &work;
  const Clock::duration before = t_asleep;
  change(round_, (round_.load(std::memory_order_relaxed) + 1) & 0x3FFFFFFF);
  work(0);
  meet();  // `work` ends with this call
  const Clock::time_point end = Clock::now();
  next_width_.took(end, end - begin, t_asleep - before);
}

void ThreadTeam::meet() {
  if (width_ == 1) return;
  const int meeting = meeting_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    return change(meeting_, (meeting + 1) & 0x3FFFFFFF);
  }
  wait_while(meeting_, meeting);
}

void ThreadTeam::serve(int index) {
  for (int done = 0;;) {
    wait_while(round_, done);
    done = round_.load(std::memory_order_acquire);
    if (done == kOver) return;
    (*work_)(index);
    meet();
  }
}

void ThreadTeam::wait_while(const std::atomic<int>& word, int value) {
  const auto has_changed = [&] { return word.load() != value; };
  if (has_changed()) return;
  const Clock::time_point begin = Clock::now();
  do {
    for (int i = 0; i < kLooksAtOnce; ++i) {
      if (has_changed()) return;
      pause();
    }
  } while (Clock::now() - begin < kLooking);
  // Not std::atomic::wait(), which yields first: a yield gives up the core for a whole time slice,
  // while a sleeper resumes as soon as it is woken.
  Lock lock(mutex_);
  ++num_asleep_;
  changed_.wait(lock.native(), has_changed);
  --num_asleep_;
  t_asleep += Clock::now() - begin;
}

void ThreadTeam::change(std::atomic<int>& word, int value) {
  word.store(value);  // before reading num_asleep_: a sleeper counts itself before its last check
  if (num_asleep_.load() == 0) return;
  { const Lock lock(mutex_); }  // now it sleeps or has seen it
  changed_.notify_all();
}

namespace {

constexpr int64_t kPartsEach = 8;

}  // namespace

void parallel_ranges(int64_t count, int64_t grain,
                     const std::function<void(int64_t, int64_t)>& work) {
  if (count <= 0) return;
  static Mutex mutex;
  static std::unique_ptr<ThreadTeam> team GUARDED_BY(mutex);
  thread_local bool is_inside = false;
  const int64_t most = (count + grain - 1) / grain;
  const int num_threads = at::get_num_threads();
  if (num_threads == 1 || most == 1 || is_inside) return work(0, count);
  if (!mutex.try_lock()) return work(0, count);
  const Lock lock(mutex, std::adopt_lock);
  if (!team || team->size() != num_threads) team = std::make_unique<ThreadTeam>(num_threads);
  // More parts than threads, so that a delayed thread takes fewer of them.
  const int64_t num_parts = std::min(most, kPartsEach * int64_t{num_threads});
  std::atomic<int64_t> next = 0;
  Mutex error_mutex;  // guards `error`
  std::exception_ptr error;
  team->run([&](int) {
    is_inside = true;
    try {
      for (int64_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < num_parts;) {
        work(count * part / num_parts, count * (part + 1) / num_parts);
      }
    } catch (...) {
      next.store(num_parts, std::memory_order_relaxed);
      const Lock error_lock(error_mutex);
      if (!error) error = std::current_exception();
    }
    is_inside = false;
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace predgen
