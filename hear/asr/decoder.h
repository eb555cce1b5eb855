#pragma once

#include <optional>
#include <stop_token>

#include "hear/asr/ear.h"

namespace predgen::ears {

/// Turns sound into words. Used by one thread.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual DecoderPace pace() const = 0;
  /// nullopt if it was stopped, from any thread; a decoder may run to its end nevertheless.
  virtual std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) = 0;
  /// The stream has ended.
  virtual void forget(uint32_t stream) = 0;
};

}  // namespace predgen::ears
