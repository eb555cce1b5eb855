#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/session.h"
#include "runtime/converse/turn.h"
#include "runtime/converse/turn_pace.h"
#include "runtime/generate/answer_constraint.h"
#include "text/sentence/spoken_opening.h"

namespace predgen {

/// Ends a turn with a TurnError kind that its cause does not tell.
class TurnFailure : public Error {
 public:
  TurnFailure(TurnError::Kind why, const std::string& message) : Error(message), kind(why) {}

  const TurnError::Kind kind;
};

/// Runs `work`, which calls the speaker. TurnFailure if the voice is lost.
void speak(const std::function<void()>& work);

/// State of the turn in progress.
struct Session::Turn {
  TranscriptSource& source;
  const TurnObserver& observer;
  const std::stop_token& stop;
  TurnResult result{};
  /// Tokens of the draft's first sentence; no limit while it is incomplete.
  int64_t first_sentence = std::numeric_limits<int64_t>::max();
  /// When the draft's first sentence was complete; nullopt: not yet.
  std::optional<Seconds> sentence_ready{};
  /// The answer begun at a pause (InputTimeWork::kPreempt), held by the speculator.
  struct Begun {
    std::string words;  // bare_words() that it answers
    TokenIds prompt;
    bool is_whole = false;
  };
  std::optional<Begun> begun{};
  int64_t num_begun = 0;
  std::optional<Transcript> paused{};  // the last transcript that was stable
  AnswerPace pace{};
  /// What the speaker synthesises ahead, and since when.
  struct Prepared {
    std::string text;
    Seconds time;
  };
  std::optional<Prepared> prepared{};
  std::shared_ptr<const Sampler> sampler{};        // none: greedy
  std::shared_ptr<AnswerConstraint> constraint{};  // none: anything
  bool is_over = false;                            // the user's words are final
  size_t trace_bytes = 0;                          // of texts in events

  /// `speaker` synthesises `text` ahead; null: no voice.
  void prepare(const std::string& text, Seconds now, Speaker* speaker) {
    if (speaker == nullptr) return;
    if (!prepared || prepared->text != text) prepared = {text, now};
    speak([&] { speaker->prepare(text); });
  }
  /// The draft in `reader` has grown, by the `sentences`, and has had none before: prepares what
  /// the voice gets first of it.
  void follow_draft(const AnswerReader& reader,
                    const std::vector<SentenceSplitter::Sentence>& sentences,
                    SpokenOpening& opening, Seconds now, Speaker* speaker) {
    if (const auto clause = opening.next_clause(reader.spoken())) prepare(*clause, now, speaker);
    if (sentences.empty()) return;
    const std::string& sentence = sentences.front().text;
    sentence_ready = now;
    prepare(opening.of(sentence), now, speaker);
    if (speaker != nullptr) observer.on_first_sentence(sentence);
  }
};

}  // namespace predgen
