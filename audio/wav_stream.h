#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace predgen {

/// A WAV file that comes through a pipe, where it has no end that it could know when it begins:
/// `ffmpeg -i .. -f wav -`.
struct WavStream {
  int sample_rate = 0;  // Hz
  size_t num_channels = 1, bytes_per_sample = 2;
  bool is_float = false;
  size_t begin = 0;              // of the sound in the file, in bytes
  std::optional<size_t> size{};  // of the sound, in bytes; nullopt: all that follows

  size_t bytes_per_frame() const { return num_channels * bytes_per_sample; }
  /// The channels of whole frames, mixed, in [-1,1].
  std::vector<float> mono(std::string_view bytes) const;
};

/// Whether it is a WAV file that begins with these bytes, at least 12 of them.
bool is_wav(std::string_view bytes);
/// nullopt: the sound does not begin in these bytes. UserError for a file in another format than
/// whole numbers of 8 to 32 bits, or 32-bit floats.
std::optional<WavStream> read_wav_stream(std::string_view bytes);

}  // namespace predgen
