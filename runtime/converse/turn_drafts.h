#pragma once

#include "runtime/converse/current_turn.h"

namespace predgen {

/// What a session does for a turn while the user speaks: it drafts the answer, or only runs the
/// prompt (InputTimeWork). Used by one thread; borrows the turn.
class TurnDrafts {
 public:
  explicit TurnDrafts(CurrentTurn& turn) : turn_(turn), session_(turn.session) {}

  /// Works on a transcript that is not final; returns as soon as a newer one arrives.
  void work_on(const Transcript& heard);

 private:
  /// `rendered`: `heard` as a prompt.
  void draft(const Transcript& heard, const History::Prompt& rendered);
  /// Generation settings of a draft; it stops when there is something newer than `heard`.
  GenerationConfig draft_config(const Transcript& heard) const;
  /// Tells the observer, if it asks, how likely the turn is over, judged by the words.
  PromptReader end_reader(const Transcript& heard, const History::Prompt& rendered) const;

  CurrentTurn& turn_;
  const SessionParts& session_;
};

}  // namespace predgen
