#include "audio/echo/echo_cancelling_source.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/log.h"

namespace predgen {

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
