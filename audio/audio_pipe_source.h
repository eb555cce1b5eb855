#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "audio/audio_source.h"
#include "audio/resampler.h"
#include "audio/sample_encoding.h"
#include "core/stop.h"

namespace predgen {

/// Raw mono samples of 16 bits, little-endian, or a WAV file, from a file descriptor: `arecord -t
/// raw -f S16_LE`, or a file, which is heard as if spoken now. Sound waiting in the pipe of a
/// recording program is heard at once: it has been spoken already.
class AudioPipeSource : public AudioSource {
 public:
  /// `sample_rate`: of raw samples, which a WAV file's become; in Hz, UserError outside of 8 to 192
  /// kHz. `fd` stays the caller's. The clock is
  /// borrowed.
  AudioPipeSource(int fd, int sample_rate, Clock& clock, std::stop_token stop);

  int sample_rate() const override { return sample_rate_; }
  std::span<const float> read() override;

 private:
  const int fd_;
  const int sample_rate_;
  /// Looks whether it is a WAV file, whose samples begin after its head.
  void begin();
  size_t bytes_per_second() const {
    return static_cast<size_t>(wav_.sample_rate) * wav_.bytes_per_frame();
  }
  /// The next `size` bytes as samples of sample_rate_; all that is left of them if `is_last`.
  std::vector<float> take(size_t size, bool is_last);
  /// Reads what is available, up to kMostAhead; waits only for the first `least` bytes.
  void fill(size_t least);
  /// Whether the other end, all of whose output was read, writes no faster than one speaks. Takes a
  /// tenth of a second.
  bool is_live();

  const StoppablePoll poll_;
  AudioPace pace_;
  WavStream wav_;  // raw samples are those of such a file, without a head
  bool has_begun_ = false;
  std::optional<Resampler> resampler_;  // nullopt: the rate is sample_rate_
  std::string ahead_;                   // bytes that were read, not yet returned
  bool has_ended_ = false;
  std::optional<bool> is_live_{};  // from the first call on
  std::vector<float> block_;
};

}  // namespace predgen
