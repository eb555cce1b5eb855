#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

struct sf_private_tag;  // libsndfile's

namespace predgen {

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

}  // namespace predgen
