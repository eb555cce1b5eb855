#pragma once

#include <algorithm>
#include <atomic>

#include "core/clock.h"

namespace predgen {

/// Shows what the test set, to any thread.
class ManualClock : public Clock {
 public:
  Seconds now() const override { return Seconds(now_.load()); }
  void sleep_until(Seconds time) override { now_ = std::max(now_.load(), time.count()); }
  void set(double seconds) { now_ = seconds; }

 private:
  std::atomic<double> now_ = 0;
};

}  // namespace predgen
