#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"

namespace predgen {

/// How loud the assistant is.
enum class Loudness {
  kFull,
  kDucked,  // the user may be about to speak
  kPaused,  // stopped where it is, with nothing lost
};

/// What the rules of TurnTaking come to, to be done in this order.
struct TurnActions {
  std::optional<Loudness> sound{};
  /// The answer is left: nothing more of it is said, and of its text the history has what was
  /// heard.
  bool leaves = false;
  /// The user's turn is over and to be answered.
  bool commits = false;
  /// What was heard of the user is no turn, and forgotten: a cough, a "hm" over the answer.
  bool forgets = false;

  bool operator==(const TurnActions&) const = default;
};

struct TurnTakingRules {
  std::string language = "en";  // of is_backchannel()
  Seconds until_words{0.6};     // a voice without words lowers the assistant's for so long
  Seconds until_left{0.5};      // words that are not taken back by then end the answer; 0: any
};

/// Whose turn it is to speak, when a user and an assistant may both. Pure: events come in with
/// their times, which never go back, and actions out; tick() makes what only time brings about, and
/// has to be called every now and then. Used by one thread at a time.
///
/// The voice of the user makes an answer softer at once, words of his stop it; it goes on where it
/// was, as loud as before, when no words come, when they were only an acknowledgement, or when the
/// recogniser takes them back. Words that stay end it.
class TurnTaking {
 public:
  enum class State {
    kIdle,
    kListening,    // to the user
    kSpeculating,  // the same, and there is a draft of the answer
    kCommitted,    // the user's turn is over, and nothing of an answer is heard yet
    kSpeaking,     // the answer is heard
    kInterrupted,  // it is paused, as the user speaks
  };

  explicit TurnTaking(TurnTakingRules rules = {}) : rules_(std::move(rules)) {}

  State state() const;
  /// Whether there is an answer that may go on.
  bool is_answering() const { return answer_ == Answer::kMade || answer_ == Answer::kHeard; }

  // The user.

  /// His voice begins or pauses; not every recogniser tells.
  TurnActions on_voice(Seconds now, bool is_active);
  /// All words of his turn so far; they may be fewer than before.
  TurnActions on_words(Seconds now, const std::string& words);
  /// His turn is over, with these words.
  TurnActions on_end(Seconds now, const std::string& words);
  /// What he has said since his last turn is lost.
  TurnActions on_lost(Seconds now);

  // The assistant.

  /// It has a draft on his words so far.
  void on_draft();
  /// It answers: the oldest turn that was committed, if there is one.
  TurnActions on_taken(Seconds now);
  /// The first sound of the answer is played.
  TurnActions on_sound(Seconds now);
  /// It is silent: the answer was heard to its end, left, or there was none.
  TurnActions on_silent();

  TurnActions tick(Seconds now);

 private:
  /// What the assistant does.
  enum class Answer { kNone, kMade, kHeard, kLeft };

  void become(Loudness loudness, TurnActions& actions);
  void leave(TurnActions& actions);
  void forget_user();

  const TurnTakingRules rules_;
  Answer answer_ = Answer::kNone;
  int64_t num_committed_ = 0;  // turns that were not taken yet
  Loudness loudness_ = Loudness::kFull;
  // Of the user's turn under way.
  bool has_voice_ = false, has_words_ = false, has_draft_ = false;
  bool is_speech_ = false;                // its words are more than an acknowledgement
  std::optional<Seconds> voice_since_{};  // that no words have come of, while an answer is made
  std::optional<Seconds> words_since_{};  // that are more, while an answer is made
};

}  // namespace predgen
