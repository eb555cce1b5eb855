#pragma once

#include <filesystem>
#include <memory>

#include "audio/instant_sink.h"

struct sf_private_tag;  // libsndfile's SNDFILE

namespace predgen {

/// A mono 16-bit WAV file, valid after every write: a killed program leaves what was spoken.
class WavSink : public InstantSink {
 public:
  /// Replaces the file; UserError if it cannot be written.
  WavSink(const std::filesystem::path& file, int sample_rate);

  void drain() override;

 private:
  void take(std::span<const float> samples) override;

  struct Close {
    void operator()(sf_private_tag* file) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<sf_private_tag, Close> file_;
};

}  // namespace predgen
