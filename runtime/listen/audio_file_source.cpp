#include "runtime/listen/audio_file_source.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "voice/sound_error.h"

namespace predgen {
namespace {

constexpr int kSlowest = 8000, kFastest = 192'000;  // Hz

float in_range(float sample) { return std::isfinite(sample) ? std::clamp(sample, -1.0f, 1.0f) : 0; }

}  // namespace

void AudioFileSource::Close::operator()(sf_private_tag* file) const { sf_close(file); }

AudioFileSource::~AudioFileSource() = default;

AudioFileSource::AudioFileSource(const std::filesystem::path& file, Clock& clock) : path_(file) {
  if (!std::filesystem::is_regular_file(file)) throw UserError("{}: no such file", file.string());
  SF_INFO info{};
  file_.reset(sf_open(file.c_str(), SFM_READ, &info));
  if (!file_) {
    throw UserError("{}: cannot be read as sound: {}", file.string(),
                    sound_error(sf_strerror(nullptr)));
  }
  if (info.frames == 0) throw UserError("{}: holds no sound", file.string());
  if (info.samplerate < kSlowest || info.samplerate > kFastest) {
    throw UserError("{}: has {} Hz, but must have {} to {}", file.string(), info.samplerate,
                    kSlowest, kFastest);
  }
  sample_rate_ = info.samplerate;
  num_channels_ = static_cast<size_t>(info.channels);
  pace_ = std::make_unique<AudioPace>(sample_rate_, clock);
  frames_.resize(static_cast<size_t>(sample_rate_ / kBlocksPerSecond) * num_channels_);
}

std::span<const float> AudioFileSource::read() {
  const auto most = static_cast<sf_count_t>(frames_.size() / num_channels_);
  const sf_count_t count = sf_readf_float(file_.get(), frames_.data(), most);
  if (sf_error(file_.get()) != SF_ERR_NO_ERROR) {
    throw UserError("{}: cannot be read as sound: {}", path_.string(),
                    sound_error(sf_strerror(file_.get())));
  }
  block_.resize(static_cast<size_t>(count));
  for (size_t i = 0; i < block_.size(); ++i) {
    const auto frame = std::span(frames_).subspan(i * num_channels_, num_channels_);
    const float sum = std::accumulate(frame.begin(), frame.end(), 0.0f);
    block_[i] = in_range(sum / static_cast<float>(num_channels_));
  }
  if (!block_.empty()) pace_->wait_for(block_.size());
  return block_;
}

}  // namespace predgen
