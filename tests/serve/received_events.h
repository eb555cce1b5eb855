#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace predgen::serve {

/// Events that a client was sent by any thread, in their order; read by one. `kType(event)`: an
/// event's type.
template <class Event, std::string (*kType)(const Event&)>
class ReceivedEvents {
 public:
  void push(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  /// The next event that was not returned yet, waiting for it.
  Event next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return num_read_ < events_.size(); })) {
      throw std::runtime_error("the client waits in vain");
    }
    return events_.at(num_read_++);
  }
  /// All up to one of this type.
  std::vector<Event> until(const std::string& type) {
    std::vector<Event> events;
    do {
      events.push_back(next());
    } while (kType(events.back()) != type);
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
  std::vector<Event> events_;
  size_t num_read_ = 0;
};

}  // namespace predgen::serve
