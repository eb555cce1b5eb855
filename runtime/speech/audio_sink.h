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

  /// Returns when everything written has been played or is on disk.
  virtual void drain() = 0;

  /// Nothing is written soon: a device that runs dry from now on has no underrun. Any thread.
  virtual void expect_nothing() {}
  /// Device buffers that ran short while more was expected: audible gaps. Any thread.
  virtual int64_t num_underruns() const { return 0; }
};

}  // namespace predgen
