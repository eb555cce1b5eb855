#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace predgen {

/// Gives a piece of speech the silence that it should have: networks put some 0.3 s before it and
/// 0.5 s behind it, which the listener would wait for at the beginning and between clauses. Of what
/// is quiet at the front a moment stays, so that a soft first sound is whole.
class QuietEdges {
 public:
  explicit QuietEdges(int sample_rate);  // Hz

  /// Sound of the piece, in order; appends what is certain to be said.
  void push(std::span<const float> sound, std::vector<float>& samples);
  /// The piece is over: appends `pause` of silence behind its last sound, unless it had none.
  /// The next one may follow.
  void end(Seconds pause, std::vector<float>& samples);

 private:
  int sample_rate_;
  size_t lead_;              // samples
  std::vector<float> held_;  // quiet so far, perhaps to be said
  bool has_sound_ = false;
};

/// How long a voice is silent behind a clause with this mark (Clause::mark).
Seconds pause_behind(std::string_view mark);

}  // namespace predgen
