#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/serve/wyoming/wyoming_sender.h"

namespace predgen {

/// Keeps the events that a client is sent; the end of the connection is an event "closed".
class FakeWyomingSender : public WyomingSender {
 public:
  void send(const WyomingEvent& event) override {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    events_.push_back(event);
    changed_.notify_all();
  }
  void close() override {
    send({.type = "closed"});
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  bool wait_for_room(const std::stop_token& stop) override { return !stop.stop_requested(); }

  /// The next event that was not returned yet, waiting for it.
  WyomingEvent next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return num_read_ < events_.size(); })) {
      throw std::runtime_error("the client waits in vain");
    }
    return events_.at(num_read_++);
  }
  /// All up to one of this type.
  std::vector<WyomingEvent> until(const std::string& type) {
    std::vector<WyomingEvent> events;
    do {
      events.push_back(next());
    } while (events.back().type != type);
    return events;
  }
  size_t num_unread() {
    const std::lock_guard lock(mutex_);
    return events_.size() - num_read_;
  }

 private:
  static constexpr std::chrono::seconds kPatience{20};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WyomingEvent> events_;
  size_t num_read_ = 0;
  bool is_closed_ = false;
};

}  // namespace predgen
