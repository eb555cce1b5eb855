#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace predgen {

/// Samples in [-1,1] as 16-bit values; values beyond are clipped.
std::vector<int16_t> to_pcm16(std::span<const float> samples);
/// Little-endian, as they lie in memory; borrows the values.
std::string_view bytes_of(std::span<const int16_t> values);
/// From little-endian values; a byte that is left over is ignored.
std::vector<float> from_pcm16(std::string_view bytes);

// The two laws of ITU-T G.711, by which telephones have a sample in one byte, at 8 kHz.

uint8_t to_ulaw(int16_t sample);
int16_t from_ulaw(uint8_t byte);
uint8_t to_alaw(int16_t sample);
int16_t from_alaw(uint8_t byte);

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
