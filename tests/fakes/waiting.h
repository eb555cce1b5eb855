#pragma once

#include <chrono>
#include <thread>

namespace predgen {

/// Looks every millisecond, for 20 seconds at most; whether `condition()` has come true.
template <typename Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Looks every millisecond, so long; whether `condition()` was true all the time. What comes later
/// on a slow machine it does not see: for what should not come at all.
template <typename Condition>
bool stays_true(std::chrono::milliseconds time, const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (!condition()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// For a fake of something slow, or where nothing can be seen that one could wait for.
inline void take(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

}  // namespace predgen
