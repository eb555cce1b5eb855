#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct sf_private_tag;  // libsndfile's

namespace predgen {

/// Forms in which sound is sent: a WAV file, plain 16-bit samples, MP3, Opus in Ogg, FLAC.
enum class SoundFormat { kWav, kPcm, kMp3, kOpus, kFlac };

/// Their names: "wav", "pcm" ..
const std::vector<std::pair<std::string, SoundFormat>>& sound_formats();
/// As a Content-Type: "audio/mpeg".
std::string media_type(SoundFormat format);

/// Mono sound in one of these forms, as a stream: bytes come out while samples go in. A header
/// cannot tell the length, which is not known when it is sent. Used by one thread.
class SoundEncoder {
 public:
  /// `sample_rate` in Hz: one that the format has. UserError if libsndfile cannot write it.
  SoundEncoder(SoundFormat format, int sample_rate);
  ~SoundEncoder();

  /// The bytes that have become complete with these samples, in [-1,1]: perhaps none.
  std::string encode(std::span<const float> samples);
  /// The remaining bytes; no more sound may follow.
  std::string finish();

 private:
  struct Output;
  struct Close {
    void operator()(sf_private_tag* file) const;
  };
  std::string take();

  const SoundFormat format_;
  const std::unique_ptr<Output> output_;
  std::unique_ptr<sf_private_tag, Close> file_;  // null: the format is written here
};

}  // namespace predgen
