#include "runtime/engine/pass_thread.h"

#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "model/stream_priority.h"

namespace predgen {

PassThread::PassThread(c10::Device device)
    : stream_(make_stream(device, StreamPriority::kHigh)),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {}

void PassThread::run(const std::function<void()>& work) {
  const c10::Device device = stream_.device();
  if (!device.is_cuda()) return give(work);
  const c10::Stream asking = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  c10::Event before(device.type()), after(device.type());
  before.record(asking);
  give([&] {
    before.block(stream_);
    work();
    after.record(stream_);
  });
  after.block(asking);
}

void PassThread::give(const std::function<void()>& work) {
  Lock lock(mutex_);
  work_ = &work;
  given_.notify_one();
  done_.wait(lock.native(), [this]() REQUIRES(mutex_) { return work_ == nullptr; });
  if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void PassThread::serve(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const c10::StreamGuard stream(stream_);
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
