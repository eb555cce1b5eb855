#include "runtime/speech/playback_buffer.h"

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
  if (paused_) {
    std::ranges::fill(samples, 0.0f);
    return;
  }
  const size_t count = ring_.pop(samples);
  num_played_ += static_cast<int64_t>(count);
  std::ranges::fill(samples.subspan(count), 0.0f);
  if (count < samples.size() && expects_samples_) ++num_underruns_;
}

}  // namespace predgen
