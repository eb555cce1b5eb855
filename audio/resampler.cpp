#include "audio/resampler.h"

#include <samplerate.h>

#include <array>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace predgen {

void Resampler::Delete::operator()(SRC_STATE_tag* state) const { src_delete(state); }

Resampler::Resampler(int from_rate, int to_rate)
    : ratio_(static_cast<double>(to_rate) / from_rate) {
  if (src_is_valid_ratio(ratio_) == 0) {
    throw Error("audio at {} Hz cannot become {} Hz", from_rate, to_rate);
  }
  int error = 0;
  converter_.reset(src_new(SRC_SINC_MEDIUM_QUALITY, /*channels=*/1, &error));
  if (!converter_) throw Error("libsamplerate: {}", src_strerror(error));
}

void Resampler::add(std::span<const float> samples, std::vector<float>& output) {
  convert(samples, /*is_last=*/false, output);
}

void Resampler::finish(std::vector<float>& output) {
  convert({}, /*is_last=*/true, output);
  clear();
}

void Resampler::clear() { src_reset(converter_.get()); }

void Resampler::convert(std::span<const float> samples, bool is_last, std::vector<float>& output) {
  constexpr float kNothing = 0;   // without an input pointer the converter does not flush
  std::array<float, 4096> block;  // output has room for what comes, and for no more
  SRC_DATA data{};
  data.src_ratio = ratio_;
  data.end_of_input = is_last ? 1 : 0;
  do {
    data.data_in = samples.empty() ? &kNothing : samples.data();
    data.input_frames = static_cast<long>(samples.size());
    data.data_out = block.data();
    data.output_frames = static_cast<long>(block.size());
    if (const int error = src_process(converter_.get(), &data); error != 0) {
      throw Error("libsamplerate: {}", src_strerror(error));
    }
    samples = samples.subspan(static_cast<size_t>(data.input_frames_used));
    output.insert(output.end(), block.begin(), block.begin() + data.output_frames_gen);
  } while (!samples.empty() || data.output_frames_gen > 0);
}

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
