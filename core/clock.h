#pragma once

#include <chrono>
#include <stop_token>

namespace predgen {

using Seconds = std::chrono::duration<double>;

/// Seconds in the unit of timers.
inline std::chrono::steady_clock::duration steady_seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds));
}

/// Where the runtime reads time and waits. Thread-safe unless a class says otherwise.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic time since the clock was made.
  virtual Seconds now() const = 0;
  /// Returns when now() >= time, at once if that has passed.
  virtual void sleep_until(Seconds time) = 0;
};

/// Wall-clock time. A stop ends a sleep at once: sleep_until() throws Interrupted.
class SystemClock : public Clock {
 public:
  explicit SystemClock(std::stop_token stop);
  Seconds now() const override;
  void sleep_until(Seconds time) override;

 private:
  const std::stop_token stop_;
  const std::chrono::steady_clock::time_point start_;
};

/// Discrete-event time: sleeping jumps instead of waiting. Computation counts either as measured
/// or, for deterministic runs, only what advance() says. Used by one thread.
class VirtualClock : public Clock {
 public:
  enum class Computation { kMeasured, kCostTable };
  explicit VirtualClock(Computation computation);

  Seconds now() const override;
  void sleep_until(Seconds time) override;

  /// Adds the cost of some work; kCostTable only (kMeasured has already counted it).
  void advance(Seconds cost);
  /// Takes back time that belongs to another resource, such as speech synthesis running beside
  /// the language model; kMeasured only.
  void exclude(Seconds elapsed);

 private:
  Seconds measured() const;
  Computation computation_;
  std::chrono::steady_clock::time_point start_;
  Seconds offset_{0};
};

}  // namespace predgen
