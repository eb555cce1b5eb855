#include "audio/make_audio_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "audio/audio_microphone.h"
#include "audio/audio_pipe_source.h"
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

namespace fs = std::filesystem;

fs::path next_recording(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw UserError("{} cannot be made a folder for recordings: {}", folder.string(),
                    error ? error.message() : "it is something else");
  }
  for (int number = 1;; ++number) {
    fs::path file = folder / fmt::format("heard-{}.wav", number);
    if (!fs::exists(file)) return file;
  }
}

namespace {

const std::string kNamed = "mic:";

}  // namespace

bool is_microphone(const std::string& from) { return from == "mic" || from.starts_with(kNamed); }

std::unique_ptr<AudioSource> make_audio_source(const std::string& from, int raw_rate, Clock& clock,
                                               std::stop_token stop) {
  if (is_microphone(from)) {
    const std::string device = from == "mic" ? "" : from.substr(kNamed.size());
    return open_microphone(device, kRecogniserRate, clock, std::move(stop));
  }
  if (from == "-") {
    return std::make_unique<AudioPipeSource>(STDIN_FILENO, raw_rate, clock, std::move(stop));
  }
  return std::make_unique<AudioFileSource>(from, clock);
}

}  // namespace predgen
