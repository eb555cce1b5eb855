#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "audio/audio_source.h"
#include "audio/wav_sink.h"

namespace predgen {

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

}  // namespace predgen
