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

/// The answer to a turn's final transcript: verified, spoken, shown and measured. Used by one
/// thread; borrows both.
class TurnAnswer {
 public:
  TurnAnswer(CurrentTurn& turn, PreemptiveAnswer& begun)
      : turn_(turn), session_(turn.session), begun_(begun) {}

  /// Verifies the draft against the final transcript, speaks and shows the whole answer.
  void give(const Transcript& heard);
  /// Returns when all of it is spoken.
  void finish_speech(const Transcript& heard);

 private:
  /// The prompt for `heard`; reports rounds that it has no room for.
  TokenIds prompt(const Transcript& heard);
  /// What the answer now has more. False: it ends here, whatever else the same pass found.
  bool follow(TokenSpan tokens);
  void take(const AnswerReader::Progress& progress);
  void take_sentence(const SentenceSplitter::Sentence& sentence);
  void say(const std::string& text);
  void note_end(const SpeculationStep& step);
  /// Adds this turn to the pauses. `sound`: time taken by the first sentence's sound.
  void note_pause(const Transcript& heard, Seconds sound);

  CurrentTurn& turn_;
  const SessionParts& session_;
  PreemptiveAnswer& begun_;
  // Of give():
  Seconds turn_ended_{0}, begin_{0};       // the final transcript's time; of the verification
  int64_t passes_ = 0, draft_passes_ = 0;  // before it; those of the draft model
  std::optional<AnswerReader> reader_;
  std::optional<SpokenOpening> opening_;
  bool repeats_ = false;
};

}  // namespace predgen
