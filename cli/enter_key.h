#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace predgen::cli {

/// Push to talk on a terminal: Enter begins a turn and ends it. Any thread may ask.
class EnterKey {
 public:
  /// Reads lines from the file descriptor in a thread of its own, which calls `on_change`.
  EnterKey(int fd, std::function<void(bool is_on)> on_change);

  bool is_on() const { return is_on_; }

 private:
  std::atomic<bool> is_on_ = false;
  std::jthread reader_;  // last: it uses the other
};

}  // namespace predgen::cli
