#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/baton.h"

namespace predgen {

struct QueuedThread {
  std::string client{};  // as for Baton::Hold
  std::function<void()> work{};
};

/// Runs each of `queue` in a thread of its own that holds the baton; all of them have asked for it,
/// in this order, before the first one gets it. Returns when all have ended, with the first of
/// their exceptions.
inline void run_queued(Baton& baton, const std::vector<QueuedThread>& queue) {
  std::exception_ptr error;  // with the baton
  std::vector<std::jthread> threads;
  const Baton::Hold hold(baton);
  for (const QueuedThread& one : queue) {
    const int64_t before = baton.num_waiting();
    threads.emplace_back([&] {
      const Baton::Hold own(baton, one.client);
      try {
        one.work();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    });
    while (baton.num_waiting() == before) std::this_thread::yield();
  }
  {
    const Baton::Rest rest(baton);
    threads.clear();
  }
  if (error) std::rethrow_exception(error);
}

inline void run_queued(Baton& baton, const std::vector<std::function<void()>>& work) {
  std::vector<QueuedThread> queue;
  for (const std::function<void()>& one : work) queue.push_back({.work = one});
  run_queued(baton, queue);
}

}  // namespace predgen
