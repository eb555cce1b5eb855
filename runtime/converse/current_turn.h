#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/drafted_rounds.h"
#include "runtime/converse/early_calls.h"
#include "runtime/converse/history.h"
#include "runtime/converse/session_config.h"
#include "runtime/converse/turn.h"
#include "runtime/converse/turn_pace.h"
#include "runtime/converse/words_end.h"
#include "runtime/generate/answer_constraint.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speech/speaker.h"
#include "text/sentence/sentence_splitter.h"

namespace predgen {

/// Ends a turn with a TurnError kind that its cause does not tell.
class TurnFailure : public Error {
 public:
  TurnFailure(TurnError::Kind why, const std::string& message) : Error(message), kind(why) {}

  const TurnError::Kind kind;
};

/// An answer as the history has it. `stop_tokens`: the model's.
Message answer_message(const TurnResult& result, const TokenIds& stop_tokens);

/// Runs `work`, which calls the speaker. TurnFailure if the voice is lost.
void speak(const std::function<void()>& work);

/// What a session has for its turns. Borrows all.
struct SessionParts {
  const SessionConfig& config;
  PauseHistory& pauses;
  const Tokenizer& tokenizer;
  const History& history;
  InputTimeSpeculator& speculator;
  DraftedRounds& drafts;
  EarlyCalls* early;                        // null: nothing is called before the words are final
  std::optional<EndByWords>& end_by_words;  // made when first asked for
  Speaker& voice;
  Clock& clock;

  History::Room room() const;
  /// Gives up the engine meanwhile. TurnFailure if the model cannot be given it.
  History::Prompt prompt(const std::string& user_text) const { return prompt(history, user_text); }
  History::Prompt prompt(const History& before, const std::string& user_text) const;
  /// The voice, if it gets drafts; else null.
  Speaker* ahead() const { return config.turn.sound_ahead ? &voice : nullptr; }
};

/// The turn in progress: what its drafts and its answer share. Used by the session's thread.
struct CurrentTurn {
  const SessionParts session;
  TranscriptSource& source;
  const TurnObserver& observer;
  const std::stop_token& stop;
  size_t round = 0;  // of calls and their results that the answer goes on behind
  TurnResult result{};
  std::optional<Transcript> paused{};  // the last transcript that was stable
  AnswerPace pace{};
  /// What the speaker synthesises ahead, and since when.
  struct Prepared {
    std::string text;
    Seconds time;
  };
  std::optional<Prepared> prepared{};
  std::string words{};  // of the user, so far
  /// Of an answer to them, null: anything; nullopt: not made yet.
  std::optional<std::shared_ptr<AnswerConstraint>> constraint{};
  bool is_over = false;    // the user's words are final
  size_t trace_bytes = 0;  // of texts in events

  /// Whether something of the answer was given to the speaker.
  bool has_spoken() const { return result.metrics.first_words.has_value(); }
  /// Whether the source has a newer transcript, or the draft yields to one that is about to come.
  /// Interrupted if the turn was stopped.
  bool is_outdated(const Transcript& heard) const;
  int64_t num_draft_model_passes() const;
  /// Generation settings of the answer, as it goes on `more_rounds` later.
  GenerationConfig answer_config(size_t more_rounds = 0);
  /// What that is held to, from its beginning, `of_round` rounds of calls on; null: nothing.
  std::shared_ptr<AnswerConstraint> new_constraint(size_t of_round) const;
  /// The user has said this: what the answer is held to may be another, and is made when it is
  /// asked for.
  void hear(const std::string& text);
  /// Adds to the events.
  void note(Seconds time, TurnEvent::Kind kind, const std::string& text);
  /// An answer that `pace` follows has got `tokens`.
  void note_tokens(TokenSpan tokens);
  /// The speaker synthesises `text` ahead, if it gets drafts.
  void prepare(const std::string& text);
  /// The draft in `reader` has grown, by the `sentences`, and has had none before: prepares what
  /// the voice gets first of it. `is_told`: the observer learns the first sentence.
  void follow_draft(const AnswerReader& reader,
                    const std::vector<SentenceSplitter::Sentence>& sentences,
                    SpokenOpening& opening, bool is_told);
};

}  // namespace predgen
