#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "hear/turn_taking.h"
#include "runtime/converse/conversation_events.h"

namespace predgen {

/// Which words begin the user's turn where another plays the answers: over an answer an
/// acknowledgement does not, and whatever else does ends the answer at once. Used by one thread at
/// a time.
class FirstWords {
 public:
  /// `rules.until_left` is 0.
  explicit FirstWords(const TurnTakingRules& rules) : taking_(rules) {}

  /// An answer goes on until then, as far as is known.
  void set_answering(Seconds until) { answering_until_ = until; }
  /// First words of turn `number`. `milliseconds`: of all sound so far.
  void begin(int64_t number, int64_t milliseconds);
  /// All words of the turn so far; what is to be told of them.
  std::optional<SpeechBegun> hear(const std::string& words, Seconds now);
  /// Whether there are words that were not told.
  bool is_untold() const { return speech_ && !speech_->is_again; }
  /// The turn is over, or lost.
  void forget(Seconds now);

 private:
  TurnTaking taking_;
  Seconds answering_until_{0};
  std::optional<SpeechBegun> speech_;  // that was not told yet, or taken back since
  std::optional<SpeechBegun> told_;    // of the turn under way
};

}  // namespace predgen
