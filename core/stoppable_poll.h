#pragma once

#include <stop_token>

namespace predgen {

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
