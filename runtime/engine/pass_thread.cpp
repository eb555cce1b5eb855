#include "runtime/engine/pass_thread.h"

#include <c10/core/InferenceMode.h>

#include <utility>

namespace predgen {

void PassThread::run(const std::function<void()>& work) {
  Lock lock(mutex_);
  work_ = &work;
  given_.notify_one();
  done_.wait(lock.native(), [this]() REQUIRES(mutex_) { return work_ == nullptr; });
  if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void PassThread::serve(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  Lock lock(mutex_);
  while (given_.wait(lock, stop, [this]() REQUIRES(mutex_) { return work_ != nullptr; })) {
    try {
      (*work_)();
    } catch (...) {
      error_ = std::current_exception();
    }
    work_ = nullptr;
    done_.notify_one();
  }
}

}  // namespace predgen
