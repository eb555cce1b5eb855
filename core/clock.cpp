#include "core/clock.h"

#include <algorithm>
#include <thread>

#include "core/interrupt.h"

namespace predgen {

using std::chrono::steady_clock;

SystemClock::SystemClock() : start_(steady_clock::now()) {}

Seconds SystemClock::now() const { return steady_clock::now() - start_; }

void SystemClock::sleep_until(Seconds time) {
  constexpr Seconds kSlice{0.05};
  for (Seconds left = time - now(); left.count() > 0; left = time - now()) {
    throw_if_interrupted();
    std::this_thread::sleep_for(std::min(left, kSlice));
  }
}

VirtualClock::VirtualClock(Computation computation)
    : computation_(computation), start_(steady_clock::now()) {}

Seconds VirtualClock::measured() const {
  return computation_ == Computation::kMeasured ? Seconds(steady_clock::now() - start_)
                                                : Seconds(0);
}

Seconds VirtualClock::now() const { return measured() + offset_; }

void VirtualClock::sleep_until(Seconds time) { offset_ += std::max(time - now(), Seconds(0)); }

void VirtualClock::advance(Seconds price) {
  if (computation_ == Computation::kCostTable) offset_ += price;
}

void VirtualClock::exclude(Seconds elapsed) {
  if (computation_ == Computation::kMeasured) offset_ -= elapsed;
}

}  // namespace predgen
