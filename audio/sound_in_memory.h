#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "audio/sound_file.h"

namespace predgen {

/// A sound file in memory, of any kind that libsndfile reads (WAV, MP3, FLAC, Ogg, ..), read block
/// by block as a recogniser wants it: mono, at kRecogniserRate. Used by one thread.
class SoundInMemory {
 public:
  /// UserError, which begins with the verb, if the bytes are not sound of 4 to 192 kHz.
  explicit SoundInMemory(std::string bytes);

  /// The next block, in [-1,1]; empty: there is no more. UserError if the rest is no sound.
  std::vector<float> read();

 private:
  SoundFile file_;
  std::vector<float> frames_, block_;
  std::optional<Resampler> resampler_;  // nullopt: the end was read
};

}  // namespace predgen
