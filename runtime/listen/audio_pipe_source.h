#pragma once

#include <stop_token>
#include <vector>

#include "core/stoppable_poll.h"
#include "runtime/listen/audio_source.h"

namespace predgen {

/// Raw mono samples of 16 bits, little-endian, from a file descriptor: `arecord -t raw -f S16_LE`,
/// or a file, which is heard as if it were spoken now.
class AudioPipeSource : public AudioSource {
 public:
  /// `sample_rate`: in Hz, UserError outside of 8 to 192 kHz. `fd` stays the caller's. The clock is
  /// borrowed.
  AudioPipeSource(int fd, int sample_rate, Clock& clock, std::stop_token stop);

  int sample_rate() const override { return sample_rate_; }
  std::span<const float> read() override;

 private:
  const int fd_;
  const int sample_rate_;
  const StoppablePoll poll_;
  AudioPace pace_;
  std::vector<float> block_;
};

}  // namespace predgen
