#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "runtime/speculate/input_time_speculator.h"

namespace predgen {

/// What was drafted of an answer, round by round: to the user's words, and behind what the tools
/// said that it calls. The speculator has the draft of one round, the others wait here. Used by
/// one thread; borrows the speculator.
class DraftedRounds {
 public:
  struct Round {
    /// Tokens of the draft's first sentence; no limit while it is incomplete.
    int64_t first_sentence = std::numeric_limits<int64_t>::max();
    /// When the draft's first sentence was complete; nullopt: not yet.
    std::optional<Seconds> sentence_ready{};
    SetAside waiting{};  // unless the speculator has it
  };

  explicit DraftedRounds(InputTimeSpeculator& speculator) : speculator_(speculator) {}

  /// Forgets all; the speculator's answer is that of round 0.
  void clear() {
    rounds_.assign(1, {});
    now_ = 0;
  }
  /// Has the speculator go on with the draft of `round`, for an update() with `prompt`.
  Round& enter(size_t round, TokenSpan prompt) {
    if (round >= rounds_.size()) rounds_.resize(round + 1);
    if (round != now_) {
      rounds_[now_].waiting =
          speculator_.exchange(std::exchange(rounds_[round].waiting, {}), prompt);
      now_ = round;
    }
    return now();
  }
  /// The one that the speculator has; valid until the next enter().
  Round& now() { return rounds_[now_]; }

 private:
  InputTimeSpeculator& speculator_;
  std::vector<Round> rounds_{1};
  size_t now_ = 0;
};

}  // namespace predgen
