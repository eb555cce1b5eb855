#pragma once

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/mutex.h"

namespace predgen {

/// The streams and events of CUDA's first device, without CUDA, while this object lives: which work
/// comes before which. Work is a name; no stream waits but for events, for a host that has waited,
/// and for its own work. Not beside the module for CUDA. Thread-safe.
class FakeStreams final : public c10::impl::DeviceGuardImplInterface {
 public:
  FakeStreams() : replaced_(place().exchange(this)) { current() = 0; }
  ~FakeStreams() override { place().store(replaced_); }
  FakeStreams(const FakeStreams&) = delete;
  FakeStreams& operator=(const FakeStreams&) = delete;

  static c10::Device device() { return {c10::DeviceType::CUDA, 0}; }

  /// Queues it on the calling thread's current stream.
  void work(const std::string& name) {
    const Lock lock(mutex_);
    std::set<std::string>& queued = queued_[current()];
    queued.insert(awaited_.begin(), awaited_.end());
    before_[name] = queued;
    queued.insert(name);
  }
  bool comes_before(const std::string& first, const std::string& then) {
    const Lock lock(mutex_);
    return before_.at(then).contains(first);
  }
  static bool is_of_high_priority(const c10::Stream& stream) { return stream.id() > 0; }

  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Device getDevice() const override { return device(); }
  c10::Device exchangeDevice(c10::Device) const override { return device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}

  c10::Stream getStream(c10::Device) const override { return stream(current()); }
  c10::Stream exchangeStream(c10::Stream by) const override {
    return stream(std::exchange(current(), by.id()));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool is_high) const override {
    const Lock lock(mutex_);
    ++num_made_;
    return stream(is_high ? num_made_ : -num_made_);
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    const Lock lock(mutex_);
    const std::set<std::string>& queued = queued_[stream.id()];
    awaited_.insert(queued.begin(), queued.end());
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag) const override {
    const Lock lock(mutex_);
    if (*event == nullptr) *event = new std::set<std::string>;
    *static_cast<std::set<std::string>*>(*event) = queued_[stream.id()];
  }
  void block(void* event, const c10::Stream& stream) const override {
    const Lock lock(mutex_);
    const auto& recorded = *static_cast<std::set<std::string>*>(event);
    queued_[stream.id()].insert(recorded.begin(), recorded.end());
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<std::set<std::string>*>(event);
  }

 private:
  using Registered = std::atomic<const DeviceGuardImplInterface*>;
  static Registered& place() {
    return c10::impl::device_guard_impl_registry[static_cast<size_t>(c10::DeviceType::CUDA)];
  }
  static c10::StreamId& current() {
    thread_local c10::StreamId id = 0;
    return id;
  }
  static c10::Stream stream(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, device(), id);
  }

  const DeviceGuardImplInterface* const replaced_;
  mutable Mutex mutex_;
  mutable c10::StreamId num_made_ GUARDED_BY(mutex_) = 0;
  /// What work of a stream has before it from now on; of any stream, as the host has waited for it.
  mutable std::map<c10::StreamId, std::set<std::string>> queued_ GUARDED_BY(mutex_);
  mutable std::set<std::string> awaited_ GUARDED_BY(mutex_);
  std::map<std::string, std::set<std::string>> before_ GUARDED_BY(mutex_);
};

}  // namespace predgen
