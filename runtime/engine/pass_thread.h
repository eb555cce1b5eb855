#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <stop_token>
#include <thread>

#include "core/mutex.h"

namespace predgen {

/// A thread that runs work for other threads, one item at a time, in inference mode. What LibTorch
/// keeps per thread (a CUDA library's workspace, a team of threads on a CPU) exists only once.
class PassThread {
 public:
  PassThread() : thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  /// Returns when the work is done; rethrows its exception. Called by one thread at a time.
  void run(const std::function<void()>& work);

 private:
  void serve(const std::stop_token& stop);

  Mutex mutex_;
  std::condition_variable_any given_;
  std::condition_variable done_;
  const std::function<void()>* work_ GUARDED_BY(mutex_) = nullptr;  // to be done
  std::exception_ptr error_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses the others
};

}  // namespace predgen
