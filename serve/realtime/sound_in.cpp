#include "serve/realtime/sound_in.h"

#include <utility>

#include "core/text.h"
#include "runtime/listen/transcript_lines.h"
#include "runtime/speech/calling_sink.h"
#include "runtime/speech/pcm16.h"
#include "serve/new_id.h"
#include "serve/realtime/base64.h"
#include "serve/realtime/realtime_settings.h"

namespace predgen::serve {
namespace {

constexpr int64_t kPerMillisecond = kRealtimeRate / 1000;
constexpr int64_t kShortest = 100 * kPerMillisecond;  // that can be committed
constexpr int64_t kLongest = int64_t{600} * kRealtimeRate;
constexpr Seconds kDeaf{2};  // until a recogniser is tried again
constexpr size_t kMaxCommits = 8;

std::vector<float> decode(const std::string& base64) {
  const std::optional<std::string> bytes = from_base64(base64);
  if (!bytes) RequestFields::fail_value("audio", "must be base64, with its padding");
  if (bytes->size() % 2 != 0) {
    RequestFields::fail_value(
        "audio", fmt::format("must be whole samples of PCM16, but has {} bytes", bytes->size()));
  }
  return from_pcm16(*bytes);
}

ApiError failure(const std::string& why) {
  return ApiError({.status = 503, .type = "server_error", .code = "recogniser_failed"},
                  fmt::format("the recogniser {}; what was said since the last turn is lost", why));
}

}  // namespace

void SoundIn::Words::end_segment() {
  past = all();
  now.clear();
  has_paused = !past.empty();
}

std::string SoundIn::Words::all() const { return joined(past, " ", now); }

SoundIn::SoundIn(const MakeRecogniser& make_recogniser, Clock& clock, SpeechListener& listener)
    : make_recogniser_(make_recogniser),
      clock_(clock),
      listener_(listener),
      resampler_(
          std::make_unique<CallingSink>([this](std::span<const float> samples) REQUIRES(mutex_) {
            resampled_.insert(resampled_.end(), samples.begin(), samples.end());
          }),
          kRealtimeRate, kRecogniserRate) {}

SoundIn::~SoundIn() = default;

void SoundIn::detect_turns(const TurnDetection& detection) {
  const Lock lock(mutex_);
  detection_ = detection;
}

void SoundIn::append(const std::string& base64) {
  const std::vector<float> samples = decode(base64);
  const Lock lock(mutex_);
  if (samples.empty() || is_deaf(samples.size())) return;
  if (!detection_.is_on && num_samples_ - turn_begin_ + std::ssize(samples) > kLongest) {
    throw ApiError({.param = "audio", .code = "input_audio_buffer_too_long"},
                   fmt::format("the turn has {} s of sound already: commit or clear it",
                               kLongest / kRealtimeRate));
  }
  take(samples);
  end_turn_after_silence();
}

bool SoundIn::is_deaf(size_t num_samples) {
  if (!lost_) return false;
  num_samples_ += static_cast<int64_t>(num_samples);
  // The rest of a turn that the client will commit is not its question.
  if (!detection_.is_on || clock_.now() - *lost_ < kDeaf) return true;
  lost_.reset();
  turn_begin_ = num_samples_;
  return true;
}

void SoundIn::take(std::span<const float> samples) {
  if (!recogniser_) recogniser_ = make_recogniser_(*this);
  num_samples_ += std::ssize(samples);
  resampler_.write(samples);
  if (!recogniser_->add(utterance_, std::exchange(resampled_, {}))) {
    lose(failure("is too slow"));
  }
}

void SoundIn::commit() {
  const Lock lock(mutex_);
  if (lost_) {
    begin_turn();
    throw failure("did not hear this turn to its end");
  }
  if (num_samples_ - turn_begin_ < kShortest) {
    throw ApiError({.code = "input_audio_buffer_commit_empty"},
                   fmt::format("the buffer has {} ms of sound, and must have 100 at least",
                               (num_samples_ - turn_begin_) / kPerMillisecond));
  }
  if (commits_.size() >= kMaxCommits) {
    throw ApiError({.status = 429, .type = "rate_limit_error", .code = "too_many_commits"},
                   fmt::format("{} turns have not been understood yet: wait", commits_.size()));
  }
  resampler_.drain();
  if (!recogniser_->add(utterance_, std::exchange(resampled_, {}))) {
    return lose(failure("is too slow"));
  }
  recogniser_->finish(utterance_);
  SpokenTurn turn = spoken();
  turn.was_committed = true;
  commits_.push_back({.utterance = utterance_, .turn = std::move(turn)});
  ++utterance_;
  begin_turn();
}

void SoundIn::clear() {
  const Lock lock(mutex_);
  if (recogniser_) recogniser_->drop(utterance_);
  ++utterance_;
  resampler_.clear();
  resampled_.clear();
  const bool is_heard = commits_.empty() && !words_.all().empty();
  if (commits_.empty()) words_ = {};
  begin_turn();
  if (is_heard) listener_.on_words("");
}

void SoundIn::lose(const ApiError& error) {
  recogniser_->drop(utterance_);
  for (const Commit& commit : commits_) recogniser_->drop(commit.utterance);
  ++utterance_;
  commits_.clear();
  words_ = {};
  resampler_.clear();
  resampled_.clear();
  const bool is_under_way = detection_.is_on || num_samples_ > turn_begin_;
  begin_turn();
  if (is_under_way) lost_ = clock_.now();
  listener_.on_lost(error);
}

void SoundIn::begin_turn() {
  item_.clear();
  turn_begin_ = num_samples_;
  lost_.reset();
}

int64_t SoundIn::milliseconds() const { return num_samples_ / kPerMillisecond; }

SpokenTurn SoundIn::spoken() const {
  SpokenTurn turn{.item = item_.empty() ? new_id("item_") : item_, .text = ""};
  turn.seconds = static_cast<double>(num_samples_ - turn_begin_) / kRealtimeRate;
  if (!item_.empty()) turn.stopped_at = milliseconds();
  return turn;
}

void SoundIn::end_turn_after_silence() {
  const bool is_over = detection_.is_on && commits_.empty() && words_.has_paused;
  if (!is_over || num_samples_ - words_changed_ < detection_.silence_ms * kPerMillisecond) return;
  SpokenTurn turn = spoken();
  turn.text = words_.all();
  turn.responds = detection_.creates_response;
  words_ = {.number = words_.number};
  begin_turn();
  listener_.on_turn(turn);
}

void SoundIn::on_segment(int64_t utterance, const RecognisedSegment& segment) {
  const Lock lock(mutex_);
  const bool is_committed = !commits_.empty();
  if (utterance != (is_committed ? commits_.front().utterance : utterance_)) return;
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
  if (words.size() > kMaxTurnBytes) return lose(failure("finds no end of the words"));
  if (words != before) {
    if (!is_committed && detection_.is_on && item_.empty() && !words.empty()) {
      item_ = new_id("item_");
      listener_.on_speech(item_, milliseconds(), detection_.interrupts_response);
    }
    listener_.on_words(words);
  }
  end_turn_after_silence();
}

void SoundIn::on_end(int64_t utterance) {
  const Lock lock(mutex_);
  if (commits_.empty() || utterance != commits_.front().utterance) return;
  SpokenTurn turn = std::move(commits_.front().turn);
  commits_.pop_front();
  turn.text = std::exchange(words_, {}).all();
  listener_.on_turn(turn);
}

void SoundIn::on_failure(const std::string& why) {
  const Lock lock(mutex_);
  lose(failure(why));
}

}  // namespace predgen::serve
