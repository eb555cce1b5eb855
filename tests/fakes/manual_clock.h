#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "core/clock.h"

namespace predgen {

/// Shows what the test set, to any thread.
class ManualClock : public Clock {
 public:
  Seconds now() const override { return Seconds(now_.load()); }
  /// Does not wait, unless it is held.
  void sleep_until(Seconds time) override {
    if (is_held_) has_held_ = true;
    is_held_.wait(true);
    now_ = std::max(now_.load(), time.count());
    if (on_sleep) on_sleep();
  }
  void set(double seconds) { now_ = seconds; }
  std::function<void()> on_sleep;  // after each sleep, in its thread

  /// The next sleep, by any thread, lasts until go_on().
  void hold() { is_held_ = true; }
  /// Returns when somebody sleeps in it.
  void wait_held() const {
    while (!has_held_) std::this_thread::yield();
  }
  void go_on() {
    is_held_ = false;
    is_held_.notify_all();
  }

 private:
  std::atomic<double> now_ = 0;
  std::atomic<bool> is_held_ = false, has_held_ = false;
};

}  // namespace predgen
