#include "audio/audio_file_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"

namespace predgen {
namespace {

constexpr int kSlowest = 8000, kFastest = 192'000;  // Hz

float in_range(float sample) { return std::isfinite(sample) ? std::clamp(sample, -1.0f, 1.0f) : 0; }

}  // namespace

AudioFileSource::AudioFileSource(const std::filesystem::path& file, Clock& clock)
    : file_(file), pace_(file_.sample_rate(), clock) {
  if (sample_rate() < kSlowest || sample_rate() > kFastest) {
    throw UserError("{}: has {} Hz, but must have {} to {}", file.string(), sample_rate(), kSlowest,
                    kFastest);
  }
  frames_.resize(static_cast<size_t>(sample_rate() / kBlocksPerSecond * file_.num_channels()));
}

std::span<const float> AudioFileSource::read() {
  const auto num_channels = static_cast<size_t>(file_.num_channels());
  block_.resize(static_cast<size_t>(file_.read(frames_)));
  for (size_t i = 0; i < block_.size(); ++i) {
    const auto frame = std::span(frames_).subspan(i * num_channels, num_channels);
    const float sum = std::accumulate(frame.begin(), frame.end(), 0.0f);
    block_[i] = in_range(sum / static_cast<float>(num_channels));
  }
  if (!block_.empty()) pace_.wait_for(block_.size());
  return block_;
}

}  // namespace predgen
