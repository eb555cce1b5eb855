#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "act/background_calls.h"
#include "act/tool.h"
#include "core/clock.h"
#include "runtime/converse/tool_event.h"
#include "runtime/converse/tool_round_options.h"
#include "runtime/converse/turn.h"
#include "text/tokenizer.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// Calls of drafts that run while the user still speaks: of tools that only read and do not ask,
/// no others; of those with effects there are guesses at what they will say. Their results are kept
/// by tool and canonical arguments. When the words are final, whoever makes the same call takes it
/// over, running or done; what nobody takes is discarded. Used by the session's thread; borrows the
/// rest.
class EarlyCalls {
 public:
  /// `tell`: begun, ended, kept and discarded calls.
  EarlyCalls(act::BackgroundCalls& calls, const ToolRoundOptions& options, const Clock& clock,
             std::function<void(const ToolEvent&)> tell)
      : calls_(calls), options_(options), clock_(clock), tell_(std::move(tell)) {}

  // While the user speaks.

  /// `stop`: of the turn, cancels what runs. `num_calls`: made so far in the conversation.
  void begin_turn(const std::stop_token& stop, int64_t num_calls);
  /// The draft of `round` has these calls: begins what may run by now, and cancels what the draft
  /// does not call any more.
  void note(size_t round, const std::vector<DraftedCall>& calls);
  /// Whether results of these calls are missing, and all of those that only read run.
  bool is_coming(const std::vector<ToolCall>& calls);
  /// Waits until one has ended, or for `most`.
  void wait(Seconds most);
  struct Results {
    std::vector<Message> messages;
    bool are_guesses = false;  // some of them: at what calls with effects will say
  };
  /// What follows a draft that ends with `calls`, which get their ids, in `round`, with
  /// `num_before` calls in earlier rounds. nullopt: not all results are there, or guessed.
  std::optional<Results> results(size_t round, size_t num_before, std::vector<ToolCall>& calls);

  // When the words are final.

  struct Taken {
    std::unique_ptr<act::BackgroundCall> running;  // null: `result` is there
    act::ToolResult result;
    Seconds begun{0};
  };
  /// The call, if it has begun early and its result would stand: of the same tool, done or refused
  /// by it, and young enough. Otherwise it is discarded.
  std::optional<Taken> take(const act::Tool& tool, const ToolCall& call);
  /// Discards what was begun for rounds up to `last`.
  void end_rounds(size_t last);

  /// In this turn: begun, and of these taken.
  int64_t num_begun() const { return num_begun_; }
  int64_t num_kept() const { return num_kept_; }

 private:
  struct Entry {
    size_t round = 0;
    std::string key{};  // canonical_call()
    act::Tool tool{};
    ToolCall call{};
    Seconds begun{0}, took{0};
    std::unique_ptr<act::BackgroundCall> running{};  // null: there is a result
    act::ToolResult result{};
  };
  using Entries = std::vector<Entry>;

  void begin(size_t round, const act::Tool& tool, const DraftedCall& drafted);
  /// nullopt: it still runs, or its result is known.
  static std::optional<act::ToolResult> result_of(const Entry& entry);
  /// Notices what has ended.
  void collect();
  /// The same, and cancels all once the budget is spent, which is for calls before the last word.
  void poll();
  /// A guess at what a call with effects will say; nullopt: there is none.
  std::optional<std::string> guess_at(const std::vector<act::Tool>& tools,
                                      const ToolCall& call) const;
  Entries::iterator find(const std::string& key);
  bool is_young(const Entry& entry) const;
  bool stands(const Entry& entry) const;
  Seconds spent() const;
  void discard(const std::function<bool(const Entry&)>& which);
  ToolEvent event(const Entry& entry, ToolEvent::Kind kind) const;

  act::BackgroundCalls& calls_;
  const ToolRoundOptions& options_;
  const Clock& clock_;
  const std::function<void(const ToolEvent&)> tell_;
  // Of the turn:
  std::stop_token stop_;
  Entries entries_;
  std::map<std::string, std::string> guesses_;  // by key, of the last note()'s kept calls
  Seconds spent_{0};                            // by calls that are over
  int64_t num_begun_ = 0, num_kept_ = 0, num_calls_before_ = 0;
};

/// The same call as the same text: its tool and its canonical arguments.
std::string canonical_call(const ToolCall& call);
/// The id of a conversation's call `number`: nine letters and digits, as Mistral's templates want.
std::string call_id(int64_t number);

/// What the calls of a turn gave. Small models make the same call again and again; the second one
/// has the answer of the first. But what was read before a call with effects is old.
class AnsweredCalls {
 public:
  /// What the same call gave (the tool, and the arguments in whatever order); null: it is to be
  /// made. Valid until the next add().
  const std::string* find(const ToolCall& call) const {
    const auto known = answers_.find(canonical_call(call));
    return known == answers_.end() ? nullptr : &known->second.text;
  }
  /// `effects`: of its tool.
  void add(const ToolCall& call, act::Effects effects, const std::string& answer) {
    const bool only_reads = effects == act::Effects::kRead;
    if (!only_reads) std::erase_if(answers_, [](const auto& one) { return one.second.only_reads; });
    answers_[canonical_call(call)] = {answer, only_reads};
  }
  void clear() { answers_.clear(); }
  size_t size() const { return answers_.size(); }

 private:
  struct Answer {
    std::string text;
    bool only_reads = false;
  };
  std::map<std::string, Answer> answers_;
};

}  // namespace predgen
