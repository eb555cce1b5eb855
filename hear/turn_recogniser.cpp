#include "hear/turn_recogniser.h"

#include <algorithm>
#include <utility>

#include "hear/transcripts/transcript_lines.h"
#include "text/words.h"

namespace predgen {
namespace {

constexpr int64_t kShortest = 100;  // ms that can be committed
constexpr int64_t kLongest = 600;   // seconds
constexpr Seconds kDeaf{2};         // until a recogniser is tried again
constexpr size_t kMaxCommits = 8;
constexpr size_t kMostExpected = 8;
constexpr int64_t kUnheard = 300;  // ms of sound that may have no voice although none was reported
constexpr int64_t kUntilExpected = 150;  // ms: a pass or two of a small model on a CPU

/// Whether the words end as a sentence does; an ellipsis is a hesitation.
bool is_marked(const std::string& words) {
  return without_end_marks(words) != words && !words.ends_with("..") && !words.ends_with("\u2026");
}

SoundError failure(const std::string& why) {
  return {SoundError::Kind::kLost,
          fmt::format("the recogniser {}; what was said since the last turn is lost", why)};
}

}  // namespace

void TurnRecogniser::Words::end_segment() {
  past = all();
  now.clear();
  has_paused = !past.empty();
}

std::string TurnRecogniser::Words::all() const { return joined_words(past, now); }

TurnRecogniser::TurnRecogniser(const MakeRecogniser& make_recogniser, int sample_rate, Clock& clock,
                               RecognisedTurnHandler& handler)
    : make_recogniser_(make_recogniser),
      sample_rate_(sample_rate),
      clock_(clock),
      handler_(handler),
      resampler_(sample_rate, kRecogniserRate) {}

TurnRecogniser::~TurnRecogniser() = default;

void TurnRecogniser::set_end(const EndOfTurn& end) {
  const Lock lock(mutex_);
  end_ = end;
}

void TurnRecogniser::set_on_voice(std::function<void(const UserVoice&)> on_voice) {
  const Lock lock(mutex_);
  on_voice_ = std::move(on_voice);
}

void TurnRecogniser::set_on_pause(std::function<void(const std::string&)> on_pause) {
  const Lock lock(mutex_);
  on_pause_ = std::move(on_pause);
}

void TurnRecogniser::expect_end(const std::string& words, double probability) {
  const Lock lock(mutex_);
  expected_.emplace_front(bare_words(words), probability);
  if (expected_.size() > kMostExpected) expected_.pop_back();
  end_turn_after_silence();
}

void TurnRecogniser::add(std::span<const float> samples) {
  const Lock lock(mutex_);
  if (samples.empty() || is_deaf(samples.size())) return;
  const int64_t size = num_samples_ - turn_begin_ + std::ssize(samples);
  if (!end_.is_detected && size > kLongest * sample_rate_) {
    throw SoundError(
        SoundError::Kind::kTurnTooLong,
        fmt::format("the turn has {} s of sound already: commit or clear it", kLongest));
  }
  take(samples);
  end_turn_after_silence();
}

bool TurnRecogniser::is_deaf(size_t num_samples) {
  if (!lost_) return false;
  num_samples_ += static_cast<int64_t>(num_samples);
  utterance_begin_ = num_samples_;  // it has none of these
  // The rest of a turn to be committed is not the user's question.
  if (!end_.is_detected || clock_.now() - *lost_ < kDeaf) return true;
  lost_.reset();
  turn_begin_ = num_samples_;
  return true;
}

void TurnRecogniser::take(std::span<const float> samples) {
  if (!recogniser_) recogniser_ = make_recogniser_(*this);
  num_samples_ += std::ssize(samples);
  resampler_.add(samples, resampled_);
  if (!pass_on()) lose(failure("is too slow"));
}

bool TurnRecogniser::pass_on() {
  passed_.add(resampled_);
  return recogniser_->add(utterance_, std::exchange(resampled_, {}));
}

void TurnRecogniser::commit() {
  const Lock lock(mutex_);
  if (lost_) {
    begin_turn();
    throw failure("did not hear this turn to its end");
  }
  if (milliseconds(num_samples_ - turn_begin_) < kShortest) {
    throw SoundError(SoundError::Kind::kTurnTooShort,
                     fmt::format("the buffer has {} ms of sound, and must have {} at least",
                                 milliseconds(num_samples_ - turn_begin_), kShortest));
  }
  if (commits_.size() >= kMaxCommits) {
    throw SoundError(SoundError::Kind::kTooManyTurns,
                     fmt::format("{} turns have not been understood yet: wait", commits_.size()));
  }
  resampler_.finish(resampled_);
  const bool is_taken = pass_on();
  RecognisedTurn turn = spoken();
  turn.was_committed = true;
  commits_.push_back({.utterance = utterance_, .turn = std::move(turn)});
  if (!is_taken) return lose(failure("is too slow"));
  recogniser_->finish(utterance_);
  begin_utterance();
  begin_turn();
}

void TurnRecogniser::clear() {
  const Lock lock(mutex_);
  if (recogniser_) recogniser_->drop(utterance_);
  begin_utterance();
  resampler_.clear();
  const bool is_heard = commits_.empty() && !words_.all().empty();
  if (commits_.empty()) words_ = {};
  begin_turn();
  if (is_heard) handler_.on_words("");
}

void TurnRecogniser::lose(const SoundError& why) {
  const bool may_end = end_.is_detected || !commits_.empty();
  RecognisedTurn heard = commits_.empty() ? spoken() : commits_.front().turn;
  heard.text = words_.all();
  recogniser_->drop(utterance_);
  for (const Commit& commit : commits_) recogniser_->drop(commit.utterance);
  begin_utterance();
  commits_.clear();
  words_ = {};
  resampler_.clear();
  const bool is_under_way = end_.is_detected || num_samples_ > turn_begin_;
  begin_turn();
  if (is_under_way) lost_ = clock_.now();
  if (may_end && !heard.text.empty()) handler_.on_turn(heard);
  handler_.on_lost(why);
}

void TurnRecogniser::begin_turn() {
  ++turn_;
  is_begun_ = false;
  expected_.clear();
  paused_words_.clear();
  turn_begin_ = num_samples_;
  lost_.reset();
}

RecognisedTurn TurnRecogniser::spoken() const {
  RecognisedTurn turn{.number = turn_};
  turn.seconds =
      static_cast<double>(num_samples_ - turn_begin_) / static_cast<double>(sample_rate_);
  if (is_begun_) turn.stopped_at = milliseconds(num_samples_);
  return turn;
}

void TurnRecogniser::begin_utterance(std::vector<float> before) {
  take_voice({});
  ++utterance_;
  utterance_begin_ = num_samples_ - std::ssize(before) * sample_rate_ / kRecogniserRate;
  passed_.clear();
  resampled_ = std::move(before);
}

int64_t TurnRecogniser::place_of(int64_t sample) const {
  return milliseconds(utterance_begin_) + sample * 1000 / kRecogniserRate;
}

void TurnRecogniser::take_voice(const std::optional<HeardVoice>& voice) {
  const auto is_active = [](const std::optional<HeardVoice>& of) { return of && of->is_active; };
  const std::optional<HeardVoice> before = std::exchange(voice_, voice);
  if (!on_voice_ || is_active(before) == is_active(voice)) return;
  const HeardVoice& of = voice ? *voice : *before;
  on_voice_({.is_active = is_active(voice),
             .since_ms = place_of(of.since),
             .until_ms = place_of(of.until)});
}

int64_t TurnRecogniser::pause_ms() const {
  int64_t now = milliseconds(num_samples_);
  if (voice_->heard) now = std::min(now, place_of(*voice_->heard) + kUnheard);
  return now - place_of(voice_->until);
}

bool TurnRecogniser::is_turn_over() const {
  if (!commits_.empty()) return false;
  if (!voice_)
    return end_.is_reached(words_.has_paused, milliseconds(num_samples_ - words_changed_));
  const std::string words = words_.all();
  if (voice_->is_active || !voice_->is_in_words || words.empty()) return false;
  PauseSigns signs{.pause_ms = pause_ms(), .is_marked = is_marked(words)};
  if (end_.by_sound) signs.sound = voice_->end;
  if (!end_.by_words) return end_.is_reached(signs);
  const auto expected =
      std::ranges::find(expected_, bare_words(words), &std::pair<std::string, double>::first);
  if (expected != expected_.end()) {
    signs.words = expected->second;
  } else if (milliseconds(num_samples_ - words_changed_) < kUntilExpected) {
    // It may still come. Sound that is sent faster than it is spoken may all be here before the
    // words are: no more of it asks again, so a pause that is long enough whatever the words say is
    // not left waiting.
    signs.words = 0;
  }
  return end_.is_reached(signs);
}

void TurnRecogniser::tell_pause() {
  if (!on_pause_ || !commits_.empty()) return;
  const std::string words = words_.all();
  if (words.empty() || words == paused_words_) return;
  const bool has_paused =
      voice_ ? !voice_->is_active && voice_->is_in_words && pause_ms() >= kStablePause.count() * 1e3
             : words_.has_paused;
  if (!has_paused) return;
  paused_words_ = words;
  on_pause_(words);
}

void TurnRecogniser::end_turn_after_silence() {
  if (!is_turn_over()) return tell_pause();
  RecognisedTurn turn = spoken();
  turn.text = words_.all();
  const int64_t number = words_.number;
  words_ = {};
  if (voice_) {
    // Its segment may continue with words of the next turn, which may have begun already.
    recogniser_->drop(utterance_);
    begin_utterance(passed_.after(voice_->until));
  } else {
    words_.number = number;
  }
  begin_turn();
  handler_.on_turn(turn);
}

void TurnRecogniser::on_segment(int64_t utterance, const RecognisedSegment& segment) {
  const Lock lock(mutex_);
  const bool is_committed = !commits_.empty();
  if (utterance != (is_committed ? commits_.front().utterance : utterance_)) return;
  if (!is_committed && segment.voice) take_voice(segment.voice);
  const std::string before = words_.all();
  if (segment.number != words_.number && !words_.now.empty()) words_.end_segment();
  words_.number = segment.number;
  words_.now = segment.text;
  const std::string words = words_.all();
  if (words != before) {
    words_changed_ = num_samples_;
    words_.has_paused = false;
  }
  if (segment.is_over) words_.end_segment();
  if (words.size() > kMaxTurnBytes) {
    words_ = {};  // too many for a turn
    return lose(failure("finds no end of the words"));
  }
  if (words != before) {
    if (!is_committed && end_.is_detected && !is_begun_ && !words.empty()) {
      is_begun_ = true;
      handler_.on_speech(turn_, milliseconds(num_samples_));
    }
    handler_.on_words(words);
  }
  end_turn_after_silence();
}

void TurnRecogniser::on_end(int64_t utterance) {
  const Lock lock(mutex_);
  if (commits_.empty() || utterance != commits_.front().utterance) return;
  RecognisedTurn turn = std::move(commits_.front().turn);
  commits_.pop_front();
  turn.text = std::exchange(words_, {}).all();
  handler_.on_turn(turn);
}

void TurnRecogniser::on_failure(const std::string& why) {
  const Lock lock(mutex_);
  lose(failure(why));
}

}  // namespace predgen
