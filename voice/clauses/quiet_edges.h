#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace predgen {

/// Trims the silence around a piece of speech: networks add some 0.3 s before it and 0.5 s after
/// it, for which the listener would wait at the beginning and between clauses. A moment of the
/// leading silence stays, so that a soft first sound is not cut.
class QuietEdges {
 public:
  explicit QuietEdges(int sample_rate);  // Hz

  /// Takes the next sound of the piece; appends what is certain to be played.
  void push(std::span<const float> sound, std::vector<float>& samples);
  /// Ends the piece: appends `pause` of silence after its last sound, unless it had none. Another
  /// piece may follow.
  void end(Seconds pause, std::vector<float>& samples);

 private:
  int sample_rate_;
  size_t lead_;              // samples
  std::vector<float> held_;  // quiet so far, may yet be played
  bool has_sound_ = false;
};

/// How long a voice pauses after a clause with this mark (Clause::mark).
Seconds pause_behind(std::string_view mark);

}  // namespace predgen
