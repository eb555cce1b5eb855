#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/clock.h"

namespace predgen {

/// How fast answers come: the time of the pass that began the last one, and of each later token.
class AnswerPace {
 public:
  /// An answer begins, after `num_passes` passes in total.
  void begin(Seconds now, int64_t num_passes);
  /// The answer has more tokens. Tokens that took no pass do not count.
  void on_tokens(Seconds now, int64_t num_passes, int64_t num_tokens);
  /// Time from the start of an answer to `num_tokens` tokens. nullopt: not known yet.
  std::optional<Seconds> of(int64_t num_tokens) const;

 private:
  Seconds now_{0}, first_{0}, later_{0};
  int64_t num_passes_ = 0, num_later_ = 0;
  bool begins_ = true;
};

/// Whether a conversation's drafts can wait until the user pauses: in each of its last turns a
/// first sentence begun at the pause would have been ready, with its sound, when the end of the
/// turn was known. A value.
class PauseHistory {
 public:
  /// `pause`: from the moment when the pause after the last words was known until the end of the
  /// turn was known, 0 if it was not told. `sentence`: the time to make a first sentence, sound
  /// included.
  void add(Seconds pause, Seconds sentence);
  /// False before the first turn.
  bool can_wait() const;

 private:
  struct Turn {
    Seconds pause, sentence;
  };
  std::deque<Turn> turns_;  // the last ones
};

}  // namespace predgen
