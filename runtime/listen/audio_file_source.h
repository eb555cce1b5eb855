#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/listen/audio_source.h"

struct sf_private_tag;  // libsndfile's

namespace predgen {

/// A sound file, heard as if spoken now: WAV, FLAC, Ogg, of 8 to 192 kHz, its channels mixed.
class AudioFileSource : public AudioSource {
 public:
  /// The clock is borrowed. UserError if the file is missing, empty or not sound.
  AudioFileSource(const std::filesystem::path& file, Clock& clock);
  ~AudioFileSource() override;

  int sample_rate() const override { return sample_rate_; }
  std::span<const float> read() override;

 private:
  struct Close {
    void operator()(sf_private_tag* file) const;
  };
  std::unique_ptr<sf_private_tag, Close> file_;
  std::filesystem::path path_;
  int sample_rate_ = 0;
  size_t num_channels_ = 0;
  std::unique_ptr<AudioPace> pace_;
  std::vector<float> frames_, block_;
};

}  // namespace predgen
