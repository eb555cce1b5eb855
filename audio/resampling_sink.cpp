#include "audio/resampling_sink.h"

#include <samplerate.h>

#include <cmath>
#include <utility>

#include "core/error.h"

namespace predgen {

void ResamplingSink::Delete::operator()(SRC_STATE_tag* state) const { src_delete(state); }

ResamplingSink::ResamplingSink(std::unique_ptr<AudioSink> sink, int from_rate, int to_rate)
    : sink_(std::move(sink)), ratio_(static_cast<double>(to_rate) / from_rate), output_(4096) {
  if (src_is_valid_ratio(ratio_) == 0) {
    throw Error("audio at {} Hz cannot become {} Hz", from_rate, to_rate);
  }
  int error = 0;
  converter_.reset(src_new(SRC_SINC_MEDIUM_QUALITY, /*channels=*/1, &error));
  if (!converter_) throw Error("libsamplerate: {}", src_strerror(error));
}

void ResamplingSink::convert(std::span<const float> samples, bool is_last) {
  constexpr float kNothing = 0;  // without an input pointer the converter does not flush
  SRC_DATA data{};
  data.src_ratio = ratio_;
  data.end_of_input = is_last ? 1 : 0;
  do {
    data.data_in = samples.empty() ? &kNothing : samples.data();
    data.input_frames = static_cast<long>(samples.size());
    data.data_out = output_.data();
    data.output_frames = static_cast<long>(output_.size());
    if (const int error = src_process(converter_.get(), &data); error != 0) {
      throw Error("libsamplerate: {}", src_strerror(error));
    }
    samples = samples.subspan(static_cast<size_t>(data.input_frames_used));
    sink_->write(std::span(output_).first(static_cast<size_t>(data.output_frames_gen)));
  } while (!samples.empty() || data.output_frames_gen > 0);
}

void ResamplingSink::clear() {
  src_reset(converter_.get());
  sink_->clear();
}

void ResamplingSink::drain() {
  convert({}, /*is_last=*/true);
  src_reset(converter_.get());
  sink_->drain();
}

int64_t ResamplingSink::num_played() const {
  return std::llround(static_cast<double>(sink_->num_played()) / ratio_);
}

}  // namespace predgen
