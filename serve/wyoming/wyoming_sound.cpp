#include "serve/wyoming/wyoming_sound.h"

#include <utility>

#include "audio/wav_stream.h"
#include "core/error.h"
#include "hear/recogniser.h"

namespace predgen::serve {
namespace {

constexpr int kLowestRate = 8000, kHighestRate = 48000;

}  // namespace

void WyomingSound::begin(const Json& format, const std::string& event) {
  const auto number = [&](const char* key) { return json_get<int>(format, key, event); };
  const int rate = number("rate"), width = number("width"), channels = number("channels");
  if (width != 2 || channels < 1 || channels > 2 || rate < kLowestRate || rate > kHighestRate) {
    throw UserError("{}: sound must have 16 bits, 1 or 2 channels and {} to {} Hz", event,
                    kLowestRate, kHighestRate);
  }
  rate_ = rate;
  channels_ = channels;
  resampler_.reset();
  if (rate != kRecogniserRate) resampler_.emplace(rate, kRecogniserRate);
}

std::vector<float> WyomingSound::add(const std::string& pcm) {
  const WavStream sound{.sample_rate = rate_, .num_channels = static_cast<size_t>(channels_)};
  std::vector<float> samples = sound.mono(pcm);
  if (resampler_) resampler_->add(std::exchange(samples, {}), samples);
  return samples;
}

std::vector<float> WyomingSound::finish() {
  std::vector<float> rest;
  if (resampler_) resampler_->finish(rest);
  return rest;
}

}  // namespace predgen::serve
