#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "audio/audio_sink.h"
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

/// Keeps the sound of another source in a WAV file, which is valid after every block.
class RecordingSource : public AudioSource {
 public:
  /// Replaces the file; UserError if it cannot be written.
  RecordingSource(std::unique_ptr<AudioSource> audio, const std::filesystem::path& file)
      : audio_(std::move(audio)), recording_(file, audio_->sample_rate()) {}

  int sample_rate() const override { return audio_->sample_rate(); }
  /// Also UserError if the disk is full.
  std::span<const float> read() override {
    const std::span<const float> block = audio_->read();
    if (!block.empty()) recording_.write(block);
    return block;
  }

 private:
  const std::unique_ptr<AudioSource> audio_;
  WavSink recording_;
};

/// FOLDER/heard-N.wav with the lowest N that does not exist yet. Makes the folder; UserError if
/// that fails.
std::filesystem::path next_recording(const std::filesystem::path& folder);

/// Whether make_audio_source() takes `from` for a microphone.
bool is_microphone(const std::string& from);

/// "mic", "mic:" plus a part of a device's name, "-" (raw 16-bit mono samples on standard input) or
/// a sound file. `raw_rate`: of raw samples, in Hz. The clock, which is borrowed, paces sound that
/// was recorded before, and waits for a microphone's. UserError for what cannot be opened; a source
/// that waits throws Interrupted after a stop.
std::unique_ptr<AudioSource> make_audio_source(const std::string& from, int raw_rate, Clock& clock,
                                               std::stop_token stop);

}  // namespace predgen
