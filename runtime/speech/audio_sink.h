#pragma once

#include <cstdint>
#include <span>

namespace predgen {

/// Where speech goes: a file, a player. Called from the speech thread, but where it says otherwise.
class AudioSink {
 public:
  virtual ~AudioSink() = default;

  /// Mono float samples in [-1,1], in order. May wait for the device.
  virtual void write(std::span<const float> samples) = 0;

  /// Drops what was written and not yet played: the user interrupted. While nobody writes.
  virtual void clear() = 0;
  /// A write() that waits for the device returns, and the rest of it is dropped, as is all that is
  /// written before the next clear(), which follows. Any thread.
  virtual void give_up() = 0;

  /// How loud from here on, in [0,1], reached without a click; 0: paused, where it is, and nothing
  /// is lost. Files and pipes, to which nobody listens yet, take no notice. Any thread.
  virtual void set_gain(float gain) = 0;

  /// Returns when everything written has been played or is on disk.
  virtual void drain() = 0;

  /// Samples of write() that were really played since the sink was made; what clear() has dropped
  /// never counts, but a device may finish a buffer that it was filling then. Of a file what was
  /// taken counts as played. Any thread.
  virtual int64_t num_played() const = 0;

  /// Nothing is written soon: a device that runs dry from now on has no underrun. Any thread.
  virtual void expect_nothing() = 0;
  /// Device buffers that ran short while more was expected: audible gaps. Any thread.
  virtual int64_t num_underruns() const = 0;
};

}  // namespace predgen
