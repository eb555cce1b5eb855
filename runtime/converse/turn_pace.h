#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/clock.h"

namespace predgen {

/// How fast answers come: what the pass took that began the last one, and each token behind it.
class AnswerPace {
 public:
  /// An answer begins, after so many passes in all.
  void begin(Seconds now, int64_t num_passes);
  /// It has more tokens. Those that took no pass do not count.
  void on_tokens(Seconds now, int64_t num_passes, int64_t num_tokens);
  /// For so many tokens, from nothing. Nothing: not known yet.
  std::optional<Seconds> of(int64_t num_tokens) const;

 private:
  Seconds now_{0}, first_{0}, later_{0};
  int64_t num_passes_ = 0, num_later_ = 0;
  bool begins_ = true;
};

/// Whether a conversation's drafts can wait until the user pauses: in each of its last turns a
/// first sentence, with its sound, that was begun there would have been ready when the end of the
/// turn was known. A value.
class PauseHistory {
 public:
  /// `pause`: from the moment when the user was known to pause behind the last words until the end
  /// of the turn was known, 0 if nobody told. `sentence`: what a first sentence takes from nothing,
  /// its sound included.
  void add(Seconds pause, Seconds sentence);
  /// Not before a turn was seen.
  bool can_wait() const;

 private:
  struct Turn {
    Seconds pause, sentence;
  };
  std::deque<Turn> turns_;  // the last ones
};

}  // namespace predgen
