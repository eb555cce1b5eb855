#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "audio/sample_ring.h"
#include "core/clock.h"

namespace predgen {

/// Sound on its way from a device's callback to the thread that reads it, a second at most. What
/// finds no room is lost; silence of the same length takes its place, so that times stay right.
class DeviceSound {
 public:
  static constexpr Seconds kGone{
      5};  // without sound: a device that was unplugged may stay "active"

  /// The clock is borrowed.
  DeviceSound(int sample_rate, Clock& clock, std::stop_token stop);

  /// The device's thread. Never waits.
  void push(std::span<const float> samples);

  // The reading thread.

  /// As AudioSource::read(). UserError if the device does not run, or nothing comes for kGone.
  std::span<const float> read(const std::function<bool()>& is_running);
  int64_t num_lost() const { return num_lost_; }  // samples

 private:
  void tell_loss();

  Clock& clock_;
  const std::stop_token stop_;
  SampleRing ring_;
  std::vector<float> block_;
  size_t num_owed_ = 0;  // samples of silence to push; the device's thread
  std::atomic<int64_t> num_lost_ = 0;
  bool is_told_ = false;
};

}  // namespace predgen
