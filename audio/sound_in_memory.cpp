#include "audio/sound_in_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "audio/audio_source.h"
#include "core/error.h"

namespace predgen {
namespace {

constexpr int kSlowestUpload = 4000, kFastestUpload = 192'000;  // Hz
constexpr size_t kFramesAtOnce = 16384;

}  // namespace

SoundInMemory::SoundInMemory(std::string bytes) : file_(std::move(bytes)) {
  if (file_.sample_rate() < kSlowestUpload || file_.sample_rate() > kFastestUpload) {
    throw UserError("has {} Hz, but must have {} to {}", file_.sample_rate(), kSlowestUpload,
                    kFastestUpload);
  }
  frames_.resize(kFramesAtOnce * static_cast<size_t>(file_.num_channels()));
  resampler_.emplace(file_.sample_rate(), kRecogniserRate);
}

std::vector<float> SoundInMemory::read() {
  while (resampler_ && block_.empty()) {
    const auto num_channels = static_cast<size_t>(file_.num_channels());
    std::vector<float> mono(static_cast<size_t>(file_.read(frames_)));
    for (size_t i = 0; i < mono.size(); ++i) {
      const auto frame = std::span(frames_).subspan(i * num_channels, num_channels);
      const float mean =
          std::accumulate(frame.begin(), frame.end(), 0.0f) / static_cast<float>(num_channels);
      mono[i] = std::isfinite(mean) ? std::clamp(mean, -1.0f, 1.0f) : 0;
    }
    resampler_->add(mono, block_);
    if (!mono.empty()) continue;
    resampler_->finish(block_);
    resampler_.reset();
  }
  return std::exchange(block_, {});
}

}  // namespace predgen
