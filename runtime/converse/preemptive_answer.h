#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/converse/current_turn.h"

namespace predgen {

/// Preemptive generation, as in LiveKit's agents (InputTimeWork::kPreempt): an answer is begun at a
/// pause, from scratch, and is useful only if the user says no other words. Used by one thread;
/// borrows the turn.
class PreemptiveAnswer {
 public:
  explicit PreemptiveAnswer(CurrentTurn& turn) : turn_(turn), session_(turn.session) {}

  /// Drops an answer to other words, begins one at a pause, or continues it until it is complete or
  /// overtaken.
  void work_on(const Transcript& heard);
  /// The prompt of the answer that was begun, if it is to these final words; else null, and it is
  /// dropped.
  const TokenIds* keep(const Transcript& heard);

 private:
  /// Held by the speculator.
  struct Begun {
    std::string words;  // bare_words() that it answers
    TokenIds prompt;
    bool is_whole = false;
  };

  void go_on(const Transcript& heard);
  void drop();
  /// Whether newer words are final, or differ from those that it answers.
  bool is_overtaken(const Transcript& heard) const;

  CurrentTurn& turn_;
  const SessionParts& session_;
  std::optional<Begun> begun_;
  int64_t num_begun_ = 0;
};

}  // namespace predgen
