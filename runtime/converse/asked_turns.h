#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/clock.h"
#include "hear/transcripts/transcript_source.h"
#include "hear/turn_taking.h"
#include "runtime/converse/conversation_events.h"

namespace predgen {

/// The user's turns on their way to a session: when each was spoken, and what stands before the
/// words under way: a question that is asked again, or lines without an answer. A value.
class AskedTurns {
 public:
  void note_words(Seconds now) { words_known_ = now; }
  void note_voice_end(Seconds ended) { voice_ended_ = ended; }
  /// Lines that were not answered stand before the words.
  void set_before(const std::string& lines) { before_ = lines; }
  /// The turn is over and waits for the session.
  void push(Seconds now);
  /// The last one that waits is withdrawn.
  void withdraw() { waiting_.pop_front(); }
  /// The session takes the oldest one.
  void take(const Transcript& heard);
  /// The last one that was taken stands before what follows.
  void ask_again() { again_ = asked_; }

  bool has_again() const { return !again_.empty(); }
  const std::string& again() const { return again_; }
  bool is_empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  /// Of the last one that was taken.
  SpokenTimes times() const { return taken_; }

  /// These words after the lines before.
  std::string with_lines(const std::string& words) const;
  /// A transcript with the question before it.
  std::optional<Transcript> whole(std::optional<Transcript> heard) const;
  /// The words of a transcript without the question, or the lines, before.
  std::string bare(const std::string& words) const;

 private:
  Seconds voice_ended_{0}, words_known_{0};  // of the turn under way
  std::deque<SpokenTimes> waiting_;          // not yet ended
  SpokenTimes taken_{};
  std::string asked_;   // the last one that was taken
  std::string again_;   // that, if it is asked again
  std::string before_;  // lines
};

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
