#pragma once

#include <chrono>
#include <stop_token>

#include "core/error.h"

namespace predgen {

/// Throws Interrupted if a stop was requested. Call it where stopping loses nothing. The source of
/// the request (Ctrl-C, a client that left) is the caller's concern: only cli/ handles signals.
inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

/// Returns at this time, or at once when a stop is requested.
void wait_until(std::chrono::steady_clock::time_point time, const std::stop_token& stop);

/// poll() for one file descriptor; a stop request ends it at once. Thread-safe.
class StoppablePoll {
 public:
  explicit StoppablePoll(std::stop_token stop);

  /// Returns true when `descriptor` is ready for `events` (POLLIN or POLLOUT), or has failed, which
  /// read() and write() then report; false after `milliseconds` without either (-1: waits forever).
  /// Throws Interrupted if a stop was requested, even if the descriptor is ready, too.
  bool wait(int descriptor, short events, int milliseconds = -1) const;

 private:
  /// Readable once a stop is requested.
  class Event {
   public:
    Event();
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    int descriptor() const { return descriptor_; }
    void set() const;

   private:
    const int descriptor_;
  };
  struct SetEvent {
    const Event& event;
    void operator()() const { event.set(); }
  };

  const Event event_;
  const std::stop_callback<SetEvent> on_stop_;
};

}  // namespace predgen
