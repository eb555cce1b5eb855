#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/speech/resampling_sink.h"

struct sf_private_tag;  // libsndfile's

namespace predgen {

/// A sound file in memory, of any kind that libsndfile reads (WAV, MP3, FLAC, Ogg, ..), read block
/// by block as a recogniser wants it: mono, at kRecogniserRate. Used by one thread.
class SoundInMemory {
 public:
  /// Borrows the bytes. UserError if they are not sound of 4 to 192 kHz.
  explicit SoundInMemory(std::string_view bytes);
  ~SoundInMemory();

  /// The next block, in [-1,1]; empty: there is no more. UserError if the rest is no sound.
  std::vector<float> read();

 private:
  struct Bytes;
  struct Close {
    void operator()(sf_private_tag* file) const;
  };

  const std::unique_ptr<Bytes> bytes_;
  std::unique_ptr<sf_private_tag, Close> file_;
  size_t num_channels_ = 0;
  std::vector<float> frames_, block_;
  std::unique_ptr<ResamplingSink> resampler_;  // into block_
};

}  // namespace predgen
