#include "core/clock.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "core/mutex.h"
#include "core/stop.h"

namespace predgen {

using std::chrono::steady_clock;

void wait_until(steady_clock::time_point time, const std::stop_token& stop) {
  Mutex mutex;  // guards nothing, but a wait needs one
  Lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_until(lock, stop, time, [] { return false; });
}

SystemClock::SystemClock(std::stop_token stop)
    : stop_(std::move(stop)), start_(steady_clock::now()) {}

Seconds SystemClock::now() const { return steady_clock::now() - start_; }

void SystemClock::sleep_until(Seconds time) {
  const auto end = start_ + std::chrono::ceil<steady_clock::duration>(time);
  wait_until(end, stop_);
  if (now() < time) throw_if_stopped(stop_);
}

VirtualClock::VirtualClock(Computation computation)
    : computation_(computation), start_(steady_clock::now()) {}

Seconds VirtualClock::measured() const {
  return computation_ == Computation::kMeasured ? Seconds(steady_clock::now() - start_)
                                                : Seconds(0);
}

Seconds VirtualClock::now() const { return measured() + offset_; }

void VirtualClock::sleep_until(Seconds time) { offset_ += std::max(time - now(), Seconds(0)); }

void VirtualClock::advance(Seconds cost) {
  if (computation_ == Computation::kCostTable) offset_ += cost;
}

void VirtualClock::exclude(Seconds elapsed) {
  if (computation_ == Computation::kMeasured) offset_ -= elapsed;
}

}  // namespace predgen
