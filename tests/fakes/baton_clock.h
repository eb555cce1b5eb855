#pragma once

#include <iterator>
#include <set>

#include "core/clock.h"
#include "runtime/engine/baton.h"

namespace predgen {

/// Virtual time of threads that share an engine by its baton. It goes on by what advance() says,
/// the price of a pass, and to the earliest wake-up once every thread sleeps here: never while one
/// computes, nor while a pass is asked for. Who sleeps to the end of a pass, or to some time within
/// it, runs before the next one. So a run is the same each time as long as its threads queue for
/// the baton in the same order, and never rest. Used by the thread that holds the baton.
class BatonClock : public Clock {
 public:
  /// Borrows the baton.
  explicit BatonClock(Baton& baton) : baton_(baton) {}

  Seconds now() const override { return time_.now(); }
  /// Other threads have the baton meanwhile.
  void sleep_until(Seconds time) override {
    const auto own = wake_ups_.insert(time);
    baton_.wait([&] { return now() >= time; },
                [&] {
                  // This thread is not among those that wait. Whoever is more than asleep wants a
                  // pass, and runs it when its turn comes.
                  if (baton_.num_waiting() > std::ssize(wake_ups_) - 1) return;
                  time_.sleep_until(*wake_ups_.begin());
                });
    wake_ups_.erase(own);
  }
  void advance(Seconds price) { time_.advance(price); }

 private:
  Baton& baton_;
  VirtualClock time_{VirtualClock::Computation::kCostTable};
  std::multiset<Seconds> wake_ups_;  // of those who sleep
};

}  // namespace predgen
