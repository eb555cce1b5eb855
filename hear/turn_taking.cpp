#include "hear/turn_taking.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "text/words.h"

namespace predgen {
namespace {

// Log-odds, for pauses that are as frequent in a turn as at its end; they add up if signs are
// independent. smart-turn finds 90 % of the ends, and takes a third of the other pauses for one,
// whatever certainty it claims. The others were chosen on one half of `prompts/dev.jsonl`
// (bench/end_waits.py), by cut-off turns and by how long ends wait.
constexpr double kSoundsUnfinished = -1.9, kSoundsFinished = 0.95;
constexpr double kMostOfWords = 3;    // limit of trust in the words
constexpr double kUnknownWords = -1;  // most pauses are not ends
constexpr double kMarked = 0.7;       // a mark at the end of the words
constexpr double kSure = 1.5, kUnsure = -3.5;

double log_odds(double probability) { return std::log(probability / (1 - probability)); }

}  // namespace

int64_t end_wait_ms(const PauseSigns& signs, const EndWaits& waits) {
  double odds = kUnknownWords;
  // A probability of 0 or 1 has infinite odds, which are clamped, too.
  if (signs.words) odds = std::clamp(log_odds(*signs.words), -kMostOfWords, kMostOfWords);
  if (signs.sound) odds += std::lerp(kSoundsUnfinished, kSoundsFinished, *signs.sound);
  if (signs.is_marked) odds += kMarked;
  // A straight line: the longer a pause within a turn, the rarer, by a constant factor per unit of
  // time, so waiting adds to the odds as signs do.
  const double doubt = std::clamp((kSure - odds) / (kSure - kUnsure), 0.0, 1.0);
  const auto shortest = static_cast<double>(waits.shortest_ms);
  const auto longest = static_cast<double>(waits.longest_ms);
  const double least = signs.is_marked ? shortest : std::min(1.5 * shortest, longest);
  return std::llround(std::max(std::lerp(shortest, longest, doubt), least));
}

bool EndOfTurn::is_reached(const PauseSigns& signs) const {
  const int64_t wait = waits ? end_wait_ms(signs, *waits) : silence_ms;
  return is_detected && signs.pause_ms >= wait;
}

TurnTaking::State TurnTaking::state() const {
  if (is_answering() && words_since_) return State::kInterrupted;
  if (answer_ == Answer::kHeard) return State::kSpeaking;
  if (answer_ == Answer::kMade) return State::kCommitted;
  if (has_draft_) return State::kSpeculating;
  if (has_voice_ || has_words_) return State::kListening;
  return num_committed_ > 0 ? State::kCommitted : State::kIdle;
}

void TurnTaking::become(Loudness loudness, TurnActions& actions) {
  if (std::exchange(loudness_, loudness) != loudness) actions.sound = loudness;
}

void TurnTaking::leave(TurnActions& actions) {
  answer_ = Answer::kLeft;
  voice_since_.reset();
  words_since_.reset();
  become(Loudness::kPaused, actions);
  actions.leaves = true;
}

void TurnTaking::forget_user() {
  has_voice_ = has_words_ = has_draft_ = is_speech_ = false;
  voice_since_.reset();
  words_since_.reset();
}

TurnActions TurnTaking::on_voice(Seconds now, bool is_active) {
  TurnActions actions = tick(now);
  const bool begins = !std::exchange(has_voice_, is_active) && is_active;
  if (!begins || !is_answering() || loudness_ != Loudness::kFull) return actions;
  voice_since_ = now;
  become(Loudness::kDucked, actions);
  return actions;
}

TurnActions TurnTaking::on_words(Seconds now, const std::string& words) {
  TurnActions actions = tick(now);
  has_words_ = !is_blank(words);
  is_speech_ = !is_backchannel(words, rules_.language);
  has_draft_ = has_draft_ && has_words_;
  if (!is_answering()) return actions;
  if (is_speech_) {
    if (!words_since_) words_since_ = now;
    become(Loudness::kPaused, actions);
    if (rules_.until_left <= Seconds(0)) leave(actions);
  } else if (has_words_ || words_since_) {  // an acknowledgement, or a false alarm
    words_since_.reset();
    voice_since_.reset();
    become(Loudness::kFull, actions);
  }
  return actions;
}

TurnActions TurnTaking::on_end(Seconds now, const std::string& words, bool is_meant) {
  TurnActions actions = on_words(now, words);
  if (is_answering() && !is_meant ? is_speech_ : has_words_) {
    if (is_answering()) leave(actions);
    ++num_committed_;
    actions.commits = true;
  } else {
    actions.forgets = true;
  }
  forget_user();
  if (is_answering()) become(Loudness::kFull, actions);
  return actions;
}

TurnActions TurnTaking::on_lost(Seconds now) { return on_end(now, ""); }

void TurnTaking::on_draft() { has_draft_ = has_words_ && !is_answering(); }

TurnActions TurnTaking::on_taken(Seconds now) {
  TurnActions actions;
  num_committed_ = std::max<int64_t>(num_committed_ - 1, 0);
  answer_ = Answer::kMade;
  has_draft_ = false;
  if (is_speech_) {  // the user has already begun another turn
    words_since_ = now;
    become(Loudness::kPaused, actions);
  } else if (has_voice_) {
    voice_since_ = now;
    become(Loudness::kDucked, actions);
  }
  return actions;
}

TurnActions TurnTaking::on_sound(Seconds now) {
  TurnActions actions = tick(now);
  if (answer_ == Answer::kMade) answer_ = Answer::kHeard;
  return actions;
}

TurnActions TurnTaking::on_silent() {
  TurnActions actions;
  answer_ = Answer::kNone;
  voice_since_.reset();
  words_since_.reset();
  become(Loudness::kFull, actions);
  return actions;
}

TurnActions TurnTaking::tick(Seconds now) {
  TurnActions actions;
  if (!is_answering()) return actions;
  if (words_since_ && now - *words_since_ >= rules_.until_left) {
    leave(actions);
  } else if (voice_since_ && !words_since_ && now - *voice_since_ >= rules_.until_words) {
    voice_since_.reset();
    become(Loudness::kFull, actions);
  }
  return actions;
}

}  // namespace predgen
