#include "audio/resampling_sink.h"

#include <cmath>
#include <utility>

namespace predgen {

ResamplingSink::ResamplingSink(std::unique_ptr<AudioSink> sink, int from_rate, int to_rate)
    : sink_(std::move(sink)), resampler_(from_rate, to_rate) {}

void ResamplingSink::write(std::span<const float> samples) {
  output_.clear();
  resampler_.add(samples, output_);
  sink_->write(output_);
}

void ResamplingSink::clear() {
  resampler_.clear();
  sink_->clear();
}

void ResamplingSink::drain() {
  output_.clear();
  resampler_.finish(output_);
  sink_->write(output_);
  sink_->drain();
}

int64_t ResamplingSink::num_played() const {
  return std::llround(static_cast<double>(sink_->num_played()) / resampler_.ratio());
}

}  // namespace predgen
