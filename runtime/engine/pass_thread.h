#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

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
  /// On a GPU the work has a stream of high priority. Waits for all work queued there before.
  explicit PassThread(c10::Device device);

  /// Returns when the work is done, on a GPU when it is queued: before what the calling thread's
  /// stream gets from then on, and after what it has got before. Rethrows the work's exception.
  /// Called by one thread at a time.
  void run(const std::function<void()>& work);

 private:
  void give(const std::function<void()>& work);
  void serve(const std::stop_token& stop);

  const c10::Stream stream_;

  Mutex mutex_;
  std::condition_variable_any given_;
  std::condition_variable done_;
  const std::function<void()>* work_ GUARDED_BY(mutex_) = nullptr;  // to be done
  std::exception_ptr error_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses the others
};

}  // namespace predgen
