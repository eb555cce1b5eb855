#include "audio/audio_source.h"

namespace predgen {

void AudioPace::wait_for(size_t num_samples) {
  if (num_samples_ == 0) begin_ = clock_.now();
  num_samples_ += static_cast<int64_t>(num_samples);
  clock_.sleep_until(begin_ + Seconds(static_cast<double>(num_samples_) / sample_rate_));
}

}  // namespace predgen
