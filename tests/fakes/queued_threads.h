#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/engine_lock.h"

namespace predgen {

struct QueuedThread {
  std::string client{};  // as for EngineLock::Hold
  std::function<void()> work{};
};

/// Runs each of `queue` in a thread of its own that holds the engine lock; all of them have asked
/// for it, in this order, before the first one gets it. Returns when all have ended, with the first
/// of their exceptions.
inline void run_queued(EngineLock& engine_lock, const std::vector<QueuedThread>& queue) {
  std::exception_ptr error;  // with the engine lock
  std::vector<std::jthread> threads;
  const EngineLock::Hold hold(engine_lock);
  for (const QueuedThread& one : queue) {
    const int64_t before = engine_lock.num_waiting();
    threads.emplace_back([&] {
      const EngineLock::Hold own(engine_lock, one.client);
      try {
        one.work();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    });
    while (engine_lock.num_waiting() == before) std::this_thread::yield();
  }
  {
    const EngineLock::Release rest(engine_lock);
    threads.clear();
  }
  if (error) std::rethrow_exception(error);
}

inline void run_queued(EngineLock& engine_lock, const std::vector<std::function<void()>>& work) {
  std::vector<QueuedThread> queue;
  for (const std::function<void()>& one : work) queue.push_back({.work = one});
  run_queued(engine_lock, queue);
}

}  // namespace predgen
