#include "audio/echo/echo_cancelling_source.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/log.h"

namespace predgen {
namespace {

constexpr int64_t kEchoFrames = 50;     // how long an echo may follow: its delay, and the room
constexpr int64_t kLeastFrames = 100;   // of sound that was played, to learn from
constexpr double kNoiseRises = 1.002;   // at most, from one frame to the next
constexpr double kKept = 1 - 1.0 / 50;  // of energy, a frame later
constexpr double kEnough = 40;          // of the energy 16 dB are gone
constexpr double kPoor = 16;            // 12 dB: either somebody speaks, ..
constexpr int64_t kPoorFrames = 500;    // .. or the room has changed: nobody speaks for so long

double mean_square(std::span<const float> samples) {
  double sum = 0;
  for (const float sample : samples) sum += static_cast<double>(sample) * sample;
  return sum / static_cast<double>(std::max<size_t>(samples.size(), 1));
}

}  // namespace

EchoGuard::Choice EchoGuard::choose(std::span<const float> played, std::span<const float> heard,
                                    std::span<const float> cleaned) {
  echo_frames_ = mean_square(played) > kSilence ? kEchoFrames : echo_frames_ - 1;
  const double loudness = mean_square(heard);
  if (echo_frames_ <= 0) {
    echo_frames_ = 0;
    begin_answer();
    noise_ = std::min(std::max(loudness, kSilence), noise_ * kNoiseRises);
    return Choice::kHeard;
  }
  heard_ = kKept * heard_ + loudness;
  cleaned_ = kKept * cleaned_ + mean_square(cleaned);
  ++played_frames_;
  // The remaining echo is below the room's own noise.
  const bool is_quiet = cleaned_ * (1 - kKept) < noise_;
  if (!has_learnt_ && played_frames_ >= kLeastFrames) {
    has_learnt_ = is_quiet || heard_ > kEnough * cleaned_;
  }
  const bool is_poor = has_learnt_ && !is_quiet && heard_ < kPoor * cleaned_;
  poor_frames_ = is_poor ? poor_frames_ + 1 : 0;
  if (poor_frames_ > kPoorFrames) forget();
  return has_learnt_ ? Choice::kCleaned : Choice::kNothing;
}

void EchoGuard::forget() {
  has_learnt_ = false;
  begin_answer();
}

void EchoGuard::begin_answer() {
  played_frames_ = poor_frames_ = 0;
  heard_ = cleaned_ = 0;
}

EchoCancellingSource::EchoCancellingSource(std::unique_ptr<AudioSource> microphone,
                                           PlayedSound& played)
    : microphone_(std::move(microphone)), reference_(played) {
  if (microphone_->sample_rate() == sample_rate()) return;
  resampler_.emplace(microphone_->sample_rate(), sample_rate());
}

std::span<const float> EchoCancellingSource::read() {
  output_.clear();
  while (output_.empty()) {
    const std::span<const float> block = microphone_->read();
    if (block.empty()) return {};
    if (resampler_) {
      resampler_->add(block, heard_);
    } else {
      heard_.insert(heard_.end(), block.begin(), block.end());
    }
    std::span<const float> left = heard_;
    for (; left.size() >= EchoCanceller::kFrame; left = left.subspan(EchoCanceller::kFrame)) {
      clean(left.first(EchoCanceller::kFrame));
    }
    heard_.erase(heard_.begin(), heard_.end() - std::ssize(left));
  }
  return output_;
}

void EchoCancellingSource::clean(std::span<const float> frame) {
  Frame played;
  if (!reference_.take(played)) {
    if (guard_.has_learnt() && !std::exchange(is_told_, true)) {
      spdlog::warn(
          "loudspeaker and microphone have lost step: the echo is learnt anew, now and whenever "
          "that happens");
    }
    guard_.forget();
  }
  const std::span<const float> cleaned = canceller_.process(frame, played);
  const EchoGuard::Choice choice = guard_.choose(played, before_, cleaned);
  // A change of choice fades within a frame, so that nothing clicks.
  const float to_heard = choice == EchoGuard::Choice::kHeard ? 1.0f : 0.0f;
  const float to_cleaned = choice == EchoGuard::Choice::kCleaned ? 1.0f : 0.0f;
  for (size_t i = 0; i < frame.size(); ++i) {
    const float share = static_cast<float>(i + 1) / static_cast<float>(frame.size());
    output_.push_back(before_[i] * std::lerp(heard_share_, to_heard, share) +
                      cleaned[i] * std::lerp(cleaned_share_, to_cleaned, share));
  }
  heard_share_ = to_heard;
  cleaned_share_ = to_cleaned;
  std::ranges::copy(frame, before_.begin());
}

}  // namespace predgen
