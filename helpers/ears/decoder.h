#pragma once

#include "helpers/ears/ear.h"

namespace predgen::ears {

/// Turns sound into words. Used by one thread.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual DecoderPace pace() const = 0;
  /// Runs to its end: a decode cannot be stopped.
  virtual Decoded decode(const DecodeJob& job) = 0;
  /// The stream has ended.
  virtual void forget(uint32_t stream) = 0;
};

}  // namespace predgen::ears
