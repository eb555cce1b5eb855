#pragma once

#include <span>

namespace predgen {

/// Where speech goes: a file, a player. Called from the speech thread only.
class AudioSink {
 public:
  virtual ~AudioSink() = default;

  /// Mono float samples in [-1,1], in order. May wait for the device.
  virtual void write(std::span<const float> samples) = 0;

  /// Drops what was written and not yet played: the user interrupted.
  virtual void clear() = 0;

  /// Returns when everything written has been played or is on disk.
  virtual void drain() = 0;
};

}  // namespace predgen
