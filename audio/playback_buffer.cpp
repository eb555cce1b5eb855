#include "audio/playback_buffer.h"

#include <algorithm>

namespace predgen {

size_t PlaybackBuffer::push(std::span<const float> samples) {
  const size_t count = ring_.push(samples);
  expects_samples_ = true;
  return count;
}

void PlaybackBuffer::clear() {
  expects_samples_ = false;
  ring_.clear();
}

void PlaybackBuffer::fill(std::span<float> samples) {
  play(samples);
  if (played_ != nullptr) played_->add(samples);
}

void PlaybackBuffer::play(std::span<float> samples) {
  const int target = target_;
  // On the way to a pause it plays for as long as the sound is audible.
  const size_t wanted =
      target > 0 ? samples.size()
                 : std::min(samples.size(), static_cast<size_t>(std::max(level_ - 1, 0)));
  const size_t count = ring_.pop(samples.first(wanted));
  num_played_ += static_cast<int64_t>(count);
  std::ranges::fill(samples.subspan(count), 0.0f);
  if (count < wanted && expects_samples_) ++num_underruns_;
  apply_gain(samples, target);
}

void PlaybackBuffer::apply_gain(std::span<float> samples, int target) {
  if (level_ == target && target == ramp_) return;
  for (float& sample : samples) {
    level_ += std::clamp(target - level_, -1, 1);
    sample *= static_cast<float>(level_) / static_cast<float>(ramp_);
  }
}

}  // namespace predgen
