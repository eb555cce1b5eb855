#pragma once

#include <stop_token>

namespace predgen {

/// poll() for one file descriptor that a stop ends at once. Thread-safe.
class StoppablePoll {
 public:
  explicit StoppablePoll(std::stop_token stop);

  /// Returns true when `descriptor` is ready for `events` (POLLIN or POLLOUT), or when it has
  /// failed, which read() and write() then say; false when it was not for `milliseconds` (-1: waits
  /// for ever). Throws Interrupted when a stop was asked for, even if the descriptor is ready, too.
  bool wait(int descriptor, short events, int milliseconds = -1) const;

 private:
  /// Readable from the stop on.
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
