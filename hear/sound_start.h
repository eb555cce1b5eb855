#pragma once

#include <algorithm>
#include <optional>

#include "core/clock.h"

namespace predgen {

/// When sound began, by a clock, judged by when its blocks arrive: a block may come late, but never
/// before it was spoken. A microphone's clock drifts, by some 50 ppm, so only the last minute or
/// two count: else places in the sound of a slow one would seem earlier and earlier.
class SoundStart {
 public:
  /// The first `length` of the sound have arrived by `now`.
  void note(Seconds length, Seconds now) {
    const Seconds begin = now - length;
    if (!newest_ || now - since_ >= kWindow) {
      before_ = newest_;
      newest_ = begin;
      since_ = now;
    }
    newest_ = std::min(*newest_, begin);
  }
  /// nullopt: no sound has arrived.
  std::optional<Seconds> get() const {
    return newest_ && before_ ? std::min(*newest_, *before_) : newest_;
  }

 private:
  static constexpr Seconds kWindow{60};

  std::optional<Seconds> newest_, before_;  // the earliest of this window, and of the one before it
  Seconds since_{0};                        // this window's begin
};

}  // namespace predgen
