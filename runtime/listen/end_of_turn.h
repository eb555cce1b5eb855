#pragma once

#include <cstdint>

namespace predgen {

/// Who says where a turn of sound ends. The recogniser's words say where one begins, so there is no
/// loudness to set.
struct EndOfTurn {
  bool is_detected = false;  // otherwise whoever sends the sound says so
  int64_t silence_ms = 500;  // of sound without new words before a pause ends the turn

  /// `has_paused`: the recogniser has heard the user pause after the last word. `quiet_ms`: sound
  /// since that word came.
  bool is_reached(bool has_paused, int64_t quiet_ms) const {
    return is_detected && has_paused && quiet_ms >= silence_ms;
  }
};

}  // namespace predgen
