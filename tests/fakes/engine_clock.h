#pragma once

#include <iterator>
#include <set>

#include "core/clock.h"
#include "runtime/engine/engine_lock.h"

namespace predgen {

/// Virtual time of threads that share an engine by its lock. It goes on by what advance() says,
/// the cost of a pass, and to the earliest wake-up once every thread sleeps here: never while one
/// computes, nor while a pass is asked for. Who sleeps to the end of a pass, or to some time within
/// it, runs before the next one. So a run is the same each time as long as its threads queue for
/// the engine lock in the same order, and never rest. Used by the thread that holds the engine
/// lock.
class EngineClock : public Clock {
 public:
  /// Borrows the engine lock.
  explicit EngineClock(EngineLock& engine_lock) : engine_lock_(engine_lock) {}

  Seconds now() const override { return time_.now(); }
  /// Other threads have the engine lock meanwhile.
  void sleep_until(Seconds time) override {
    const auto own = wake_ups_.insert(time);
    engine_lock_.wait([&] { return now() >= time; },
                      [&] {
                        // This thread is not among those that wait. Whoever is more than asleep
                        // wants a pass, and runs it when its turn comes.
                        if (engine_lock_.num_waiting() > std::ssize(wake_ups_) - 1) return;
                        time_.sleep_until(*wake_ups_.begin());
                      });
    wake_ups_.erase(own);
  }
  void advance(Seconds cost) { time_.advance(cost); }

 private:
  EngineLock& engine_lock_;
  VirtualClock time_{VirtualClock::Computation::kCostTable};
  std::multiset<Seconds> wake_ups_;  // of those who sleep
};

}  // namespace predgen
