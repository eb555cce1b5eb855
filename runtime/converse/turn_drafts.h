#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/converse/current_turn.h"

namespace predgen {

/// What a session does for a turn while the user speaks: it drafts the answer, also behind results
/// of tools that only read, and behind what other tools will probably say (EarlyCalls), or only
/// runs the prompt (InputTimeWork). Used by one thread; borrows the turn.
class TurnDrafts {
 public:
  explicit TurnDrafts(CurrentTurn& turn) : turn_(turn), session_(turn.session) {}

  /// Works on a transcript that is not final; returns as soon as a newer one arrives.
  void work_on(const Transcript& heard);

 private:
  /// Drafts the answer to `prompt`, `round` rounds of calls further on; nullopt: newer words came
  /// before anything was verified, or no more may be drafted. `is_first_said`: what the voice
  /// would get first is in this round. `is_told`: the observer sees it.
  std::optional<TurnResult> draft(const Transcript& heard, size_t round, const TokenIds& prompt,
                                  const PromptReader& reader, bool is_first_said, bool is_told);
  /// Has the calls of a draft of round 0 run as far as they may, and drafts on behind their
  /// results, or once behind guesses, which nobody is told of. `rendered`: `heard` as a prompt.
  void go_on(const Transcript& heard, const History::Prompt& rendered, TurnResult drafted);
  /// The calls of a draft, with how often they were kept; tells the observer, and who runs them.
  void note_calls(const Transcript& heard, size_t round, const std::vector<ToolCall>& calls);
  /// Waits for their results. False: there are newer words.
  bool await(const Transcript& heard, const std::vector<ToolCall>& calls);
  /// Other answers, for idle time.
  void branch(const Transcript& heard, const TokenIds& prompt);
  /// Generation settings of a draft; it stops when there is something newer than `heard`.
  GenerationConfig draft_config(const Transcript& heard, size_t round) const;
  /// Tells the observer, if it asks, how likely the turn is over, judged by the words.
  PromptReader end_reader(const Transcript& heard, const History::Prompt& rendered) const;

  CurrentTurn& turn_;
  const SessionParts& session_;
  std::vector<std::vector<DraftedCall>> calls_;  // of the drafts, by round
};

}  // namespace predgen
