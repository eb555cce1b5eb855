#pragma once

#include <cstdint>
#include <span>

namespace predgen {

/// Where speech goes: a file, a player. Called from the speech thread unless noted otherwise.
class AudioSink {
 public:
  virtual ~AudioSink() = default;

  /// Mono float samples in [-1,1], in order. May wait for the device.
  virtual void write(std::span<const float> samples) = 0;

  /// Drops what was written and not yet played: barge-in. Not during a write().
  virtual void clear() = 0;
  /// Makes a write() that waits for the device return, and drops the rest of it and all that is
  /// written before the next clear(), which follows. Any thread.
  virtual void give_up() = 0;

  /// Volume from here on, in [0,1], reached without a click; 0: paused in place, and nothing is
  /// lost. Files and pipes, which nobody hears yet, ignore it. Any thread.
  virtual void set_gain(float gain) = 0;

  /// Returns when everything written has been played or is on disk.
  virtual void drain() = 0;

  /// Samples of write() that were really played since the sink was made; what clear() dropped never
  /// counts, but a device may finish a buffer that it was filling then. In a file, what was written
  /// counts as played. Any thread.
  virtual int64_t num_played() const = 0;

  /// No write() comes soon: a device that runs dry from now on has no underrun. Any thread.
  virtual void expect_nothing() = 0;
  /// Device buffers that ran short while more was expected: audible gaps. Any thread.
  virtual int64_t num_underruns() const = 0;
};

}  // namespace predgen
