#pragma once

#include <filesystem>
#include <vector>

#include "audio/audio_source.h"
#include "audio/sound_file.h"

namespace predgen {

/// A sound file, heard as if spoken now: WAV, FLAC, Ogg, of 8 to 192 kHz, its channels mixed.
class AudioFileSource : public AudioSource {
 public:
  /// The clock is borrowed. UserError if the file is missing, empty or not sound.
  AudioFileSource(const std::filesystem::path& file, Clock& clock);

  int sample_rate() const override { return file_.sample_rate(); }
  std::span<const float> read() override;

 private:
  SoundFile file_;
  AudioPace pace_;
  std::vector<float> frames_, block_;
};

}  // namespace predgen
