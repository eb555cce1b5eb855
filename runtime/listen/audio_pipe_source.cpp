#include "runtime/listen/audio_pipe_source.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"
#include "runtime/speech/pcm16.h"

namespace predgen {
namespace {

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

std::span<const float> AudioPipeSource::read() {
  const size_t most = static_cast<size_t>(sample_rate_ / kBlocksPerSecond) * sizeof(int16_t);
  std::string bytes;
  while (bytes.size() < most) {
    poll_.wait(fd_, POLLIN);
    std::string more(most - bytes.size(), '\0');
    const ssize_t count = ::read(fd_, more.data(), more.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) throw UserError("sound cannot be read: {}", std::strerror(errno));
    bytes.append(more, 0, static_cast<size_t>(count));
    if (count == 0) break;
  }
  block_ = from_pcm16(bytes);  // half a sample at the end is none
  if (!block_.empty()) pace_.wait_for(block_.size());
  return block_;
}

}  // namespace predgen
