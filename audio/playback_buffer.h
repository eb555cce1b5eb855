#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>

#include "audio/played_sound.h"
#include "audio/sample_ring.h"

namespace predgen {

/// What an audio device plays next. One thread writes; the device's thread fills its buffers and
/// never waits, so gain and clear are heard from its next buffer on.
class PlaybackBuffer {
 public:
  /// `played`: receives what the device gets, and outlives this; null: none.
  explicit PlaybackBuffer(size_t capacity, PlayedSound* played = nullptr)
      : ring_(capacity), played_(played) {}

  /// Before the device plays: the ramp between full gain and none takes this many samples, at least
  /// 1, which is a jump.
  void set_ramp(int num_samples) { level_ = target_ = ramp_ = num_samples; }

  /// Writer. Takes what fits and returns how many samples that were.
  size_t push(std::span<const float> samples);
  /// Writer. Forgets what was not played.
  void clear();
  /// Any thread. No more samples follow soon: an empty buffer is no underrun.
  void expect_nothing() { expects_samples_ = false; }
  /// Any thread. In [0,1]; at 0 silence, with everything kept.
  void set_gain(float gain) {
    target_ = static_cast<int>(std::lround(gain * static_cast<float>(ramp_)));
  }
  /// Any thread. Samples still to be played.
  size_t size() const { return ring_.size(); }
  /// Any thread. Samples that the device has taken since the start.
  int64_t num_played() const { return num_played_; }

  /// Device. What to play now; silence where the buffer is empty.
  void fill(std::span<float> samples);

  /// Device buffers that ran short while more was expected: audible gaps.
  int64_t num_underruns() const { return num_underruns_; }

 private:
  void play(std::span<float> samples);
  /// Takes the level to the target, sample by sample.
  void apply_gain(std::span<float> samples, int target);

  SampleRing ring_;
  PlayedSound* const played_;
  // The gain is level / ramp.
  int ramp_ = 1;
  std::atomic<int> target_ = 1;
  int level_ = 1;  // device
  std::atomic<bool> expects_samples_ = false;
  std::atomic<int64_t> num_played_ = 0, num_underruns_ = 0;
};

}  // namespace predgen
