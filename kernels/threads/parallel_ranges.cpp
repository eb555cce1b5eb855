#include "kernels/threads/parallel_ranges.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>

#include "core/mutex.h"
#include "kernels/threads/thread_team.h"

namespace predgen {
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
