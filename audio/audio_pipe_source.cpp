#include "audio/audio_pipe_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

constexpr size_t kMostAhead = 5;                         // seconds of sound
constexpr size_t kWavHead = 12, kLongestHead = 1 << 16;  // bytes

int checked_rate(int sample_rate) {
  if (sample_rate < 8000 || sample_rate > 192'000) {
    throw UserError("raw sound has {} Hz, but must have 8000 to 192000", sample_rate);
  }
  return sample_rate;
}

}  // namespace

AudioPipeSource::AudioPipeSource(int fd, int sample_rate, Clock& clock, std::stop_token stop)
    : fd_(fd),
      sample_rate_(checked_rate(sample_rate)),
      poll_(std::move(stop)),
      pace_(sample_rate, clock),
      wav_{.sample_rate = sample_rate} {}

void AudioPipeSource::begin() {
  fill(kWavHead);
  if (!is_wav(ahead_)) return;
  std::optional<WavStream> wav;
  while (!(wav = read_wav_stream(ahead_))) {
    if (has_ended_ || ahead_.size() > kLongestHead) {
      throw UserError("the WAV file in the pipe has no sound");
    }
    fill(ahead_.size() + 1);
  }
  wav_ = *wav;
  ahead_.erase(0, wav_.begin);
  if (wav_.sample_rate == sample_rate_) return;
  resampler_.emplace(wav_.sample_rate, sample_rate_);
}

void AudioPipeSource::fill(size_t least) {
  const size_t most = std::max(kMostAhead * bytes_per_second(), kLongestHead + 1);
  while (!has_ended_ && ahead_.size() < most) {
    if (!poll_.wait(fd_, POLLIN, ahead_.size() < least ? -1 : 0)) return;
    std::string more(most - ahead_.size(), '\0');
    const ssize_t count = ::read(fd_, more.data(), more.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) throw UserError("sound cannot be read: {}", std::strerror(errno));
    ahead_.append(more, 0, static_cast<size_t>(count));
    has_ended_ = count == 0;
  }
}

bool AudioPipeSource::is_live() {
  constexpr std::chrono::milliseconds kLook{100};
  const size_t before = ahead_.size();
  std::this_thread::sleep_for(kLook);
  fill(0);
  const size_t second = bytes_per_second();
  return !has_ended_ && ahead_.size() < kMostAhead * second && ahead_.size() - before < second / 2;
}

std::vector<float> AudioPipeSource::take(size_t size, bool is_last) {
  size = std::min(size, ahead_.size());
  size_t heard = size - size % wav_.bytes_per_frame();  // a part of a sample is dropped
  if (wav_.size) {
    heard = std::min(heard, *wav_.size);
    *wav_.size -= heard;
  }
  std::vector<float> samples = wav_.mono(std::string_view(ahead_).substr(0, heard));
  ahead_.erase(0, size);
  if (!resampler_) return samples;
  std::vector<float> resampled;
  resampler_->add(samples, resampled);
  if (is_last) resampler_->finish(resampled);
  return resampled;
}

std::span<const float> AudioPipeSource::read() {
  if (!std::exchange(has_begun_, true)) begin();
  const size_t block =
      static_cast<size_t>(wav_.sample_rate / kBlocksPerSecond) * wav_.bytes_per_frame();
  fill(1);
  if (!is_live_) is_live_ = is_live();
  bool is_last = false;
  do {  // a resampler keeps the first samples for a while
    fill(block);
    is_last = has_ended_ && ahead_.size() <= block;
    block_ = take(block, is_last);
  } while (block_.empty() && !is_last);
  if (!block_.empty() && !*is_live_) pace_.wait_for(block_.size());
  return block_;
}

}  // namespace predgen
