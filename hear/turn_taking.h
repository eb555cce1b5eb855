#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"

namespace predgen {

/// Evidence, in a pause, that a turn is over.
struct PauseSigns {
  int64_t pause_ms = 0;           // of sound since the voice ended
  std::optional<double> sound{};  // probability, by how it was said; nullopt: unknown
  std::optional<double> words{};  // probability, by what was said
  bool is_marked = false;         // the recogniser's words end with a mark, as a sentence does
};

/// How long a user may pause before the turn ends: between these, by how likely it is over. If the
/// recogniser set no mark, not before 1.5 times the shortest, which is longer than most pauses at a
/// comma: after "My cat scratches the sofa all day," words and sound are like those at an end.
struct EndWaits {
  int64_t shortest_ms = 200;  // if it is certainly over
  int64_t longest_ms = 1200;  // if it certainly is not
};

/// The length of pause that ends a turn with these signs; `pause_ms` itself does not count.
int64_t end_wait_ms(const PauseSigns& signs, const EndWaits& waits);

/// How the end of a spoken turn is found. The recogniser's words tell where a turn begins, so there
/// is no loudness threshold.
struct EndOfTurn {
  bool is_detected = false;         // false: the sender of the sound says so
  int64_t silence_ms = 500;         // of sound without new words before a pause ends the turn
  std::optional<EndWaits> waits{};  // instead, if the recogniser reports voice activity
  bool by_sound = true;             // whether PauseSigns::sound counts there
  bool by_words = false;            // and PauseSigns::words, known a little after the words

  /// For a recogniser without voice activity. `has_paused`: it has heard the user pause after the
  /// last word. `quiet_ms`: sound since that word came.
  bool is_reached(bool has_paused, int64_t quiet_ms) const {
    return is_detected && has_paused && quiet_ms >= silence_ms;
  }

  /// For one with voice activity: in a pause, when all words before it are known.
  bool is_reached(const PauseSigns& signs) const;
};

/// How loud the assistant is.
enum class Loudness {
  kFull,
  kDucked,  // the user may be about to speak
  kPaused,  // stopped where it is, with nothing lost
};

/// What TurnTaking decides, to be done in this order.
struct TurnActions {
  std::optional<Loudness> sound{};
  /// The answer is abandoned: no more of it is spoken, and the history keeps the text that was
  /// heard.
  bool leaves = false;
  /// The user's turn is over and to be answered.
  bool commits = false;
  /// What was heard of the user is not a turn and is dropped: a cough, a "hm" over the answer.
  bool forgets = false;

  bool operator==(const TurnActions&) const = default;
};

struct TurnTakingRules {
  std::string language = "en";  // of is_backchannel()
  Seconds until_words{0.6};     // how long a voice without words ducks the assistant
  Seconds until_left{0.5};      // words not taken back by then end the answer; 0: any words
};

/// Decides whose turn it is when both user and assistant may speak. Pure: events go in with their
/// times, which never decrease, and actions come out; tick() gives the actions due to time alone,
/// and must be called regularly. Used by one thread at a time.
///
/// The user's voice ducks an answer at once, the user's words pause it; it resumes where it was, at
/// full volume, when no words come, when they were only an acknowledgement, or when the recogniser
/// takes them back. Words that stay end it.
class TurnTaking {
 public:
  enum class State {
    kIdle,
    kListening,    // to the user
    kSpeculating,  // the same, and there is a draft of the answer
    kCommitted,    // the user's turn is over, and no answer is audible yet
    kSpeaking,     // the answer is audible
    kInterrupted,  // the answer is paused, as the user speaks
  };

  explicit TurnTaking(TurnTakingRules rules = {}) : rules_(std::move(rules)) {}

  State state() const;
  /// Whether there is an answer that may continue.
  bool is_answering() const { return answer_ == Answer::kMade || answer_ == Answer::kHeard; }
  /// Whether the user has ended the answer, and the assistant is not silent yet.
  bool is_left() const { return answer_ == Answer::kLeft; }

  // The user.

  /// The voice begins or pauses; not every recogniser reports it.
  TurnActions on_voice(Seconds now, bool is_active);
  /// All words of the user's turn so far; they may be fewer than before.
  TurnActions on_words(Seconds now, const std::string& words);
  /// The user's turn is over, with these words.
  /// `is_meant`: the user has marked the turn, so that it is no acknowledgement whatever it says.
  TurnActions on_end(Seconds now, const std::string& words, bool is_meant = false);
  /// What the user has said since the last turn is lost.
  TurnActions on_lost(Seconds now);

  // The assistant.

  /// It has a draft for the user's words so far.
  void on_draft();
  /// It answers the oldest committed turn, if there is one.
  TurnActions on_taken(Seconds now);
  /// The first sound of the answer is played.
  TurnActions on_sound(Seconds now);
  /// It is silent: the answer was played to its end or abandoned, or there was none.
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
  std::optional<Seconds> voice_since_{};  // without words so far, while an answer is made
  std::optional<Seconds> words_since_{};  // no acknowledgement, while an answer is made
};

}  // namespace predgen
