#include "runtime/listen/audio_pipe_source.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "runtime/speech/pcm16.h"

namespace predgen {
namespace {

constexpr size_t kMostAhead = 5;  // seconds of sound

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
      pace_(sample_rate, clock) {}

void AudioPipeSource::fill(size_t least) {
  const size_t most = kMostAhead * static_cast<size_t>(sample_rate_) * sizeof(int16_t);
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
  const auto second = static_cast<size_t>(sample_rate_) * sizeof(int16_t);
  return !has_ended_ && ahead_.size() < kMostAhead * second && ahead_.size() - before < second / 2;
}

std::span<const float> AudioPipeSource::read() {
  const size_t block = static_cast<size_t>(sample_rate_ / kBlocksPerSecond) * sizeof(int16_t);
  fill(1);
  if (!is_live_) is_live_ = is_live();
  fill(block);
  block_ = from_pcm16(std::string_view(ahead_).substr(0, block));  // half a sample is dropped
  ahead_.erase(0, block);
  if (!block_.empty() && !*is_live_) pace_.wait_for(block_.size());
  return block_;
}

}  // namespace predgen
