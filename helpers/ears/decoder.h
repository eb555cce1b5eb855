#pragma once

#include "helpers/ears/ear.h"

namespace predgen::ears {

/// Sound to words. Used by one thread.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual DecoderPace pace() const = 0;
  /// Takes as long as it takes: no decode can be stopped.
  virtual Decoded decode(const DecodeJob& job) = 0;
  /// Nothing more comes of this stream.
  virtual void forget(uint32_t stream) = 0;
};

}  // namespace predgen::ears
