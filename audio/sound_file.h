#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audio/resampler.h"

struct sf_private_tag;  // libsndfile's

namespace predgen {

/// The message of libsndfile's sf_strerror(), for the end of a sentence: "System error : No such
/// file or directory." becomes "No such file or directory".
inline std::string sound_error(std::string text) {
  const std::string system = "System error : ";
  if (text.starts_with(system)) text.erase(0, system.size());
  while (text.ends_with('.')) text.pop_back();
  return text;
}

/// A sound file of any rate and number of channels: WAV, FLAC, Ogg, MP3, what libsndfile reads. Of
/// a WAV file whose header was never finished, because its writer was killed or wrote into a pipe,
/// the sound is all that follows. Used by one thread.
class SoundFile {
 public:
  /// UserError if it is missing, empty or not sound.
  explicit SoundFile(const std::filesystem::path& file);
  /// The same for a file that is in memory; errors begin with the verb.
  explicit SoundFile(std::string bytes);
  ~SoundFile();
  SoundFile(const SoundFile&) = delete;
  SoundFile& operator=(const SoundFile&) = delete;

  int sample_rate() const { return sample_rate_; }  // Hz
  int num_channels() const { return num_channels_; }
  /// Reads up to `into`.size() / num_channels() frames, interleaved, in [-1,1] unless the file has
  /// louder ones. Returns how many; 0 at the end. UserError if they cannot be read.
  int64_t read(std::span<float> into);

 private:
  struct Bytes;
  void open(std::unique_ptr<Bytes> bytes);

  const std::string prefix_;      // of errors
  std::unique_ptr<Bytes> bytes_;  // that libsndfile reads, if it does not read a file by itself
  std::unique_ptr<sf_private_tag, int (*)(sf_private_tag*)> file_;
  int sample_rate_ = 0, num_channels_ = 0;
};

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
