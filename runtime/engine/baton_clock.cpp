#include "runtime/engine/baton_clock.h"

#include <iterator>

namespace predgen {

void BatonClock::sleep_until(Seconds time) {
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

}  // namespace predgen
