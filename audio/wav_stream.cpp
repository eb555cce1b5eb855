#include "audio/wav_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.h"

namespace predgen {
namespace {

constexpr size_t kRiffHead = 12, kChunkHead = 8, kFormatBytes = 16, kSubformatPlace = 24;
constexpr uint32_t kWholeNumbers = 1, kFloats = 3, kExtensible = 0xFFFE;
constexpr uint32_t kNotKnown = 0x7FFFF000;  // or more: a size that the writer did not know

uint32_t little_endian(std::string_view bytes, size_t begin, size_t count) {
  uint32_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[begin + i]);
  return value;
}

WavStream read_format(std::string_view format) {
  if (format.size() < kFormatBytes) throw UserError("the WAV file in the pipe has no format");
  uint32_t kind = little_endian(format, 0, 2);
  if (kind == kExtensible && format.size() >= kSubformatPlace + 2) {
    kind = little_endian(format, kSubformatPlace, 2);
  }
  const uint32_t bits = little_endian(format, 14, 2);
  WavStream stream{.sample_rate = static_cast<int>(little_endian(format, 4, 4)),
                   .num_channels = little_endian(format, 2, 2),
                   .bytes_per_sample = bits / 8,
                   .is_float = kind == kFloats};
  const bool is_known = stream.is_float ? bits == 32 : kind == kWholeNumbers && bits % 8 == 0;
  if (!is_known || bits < 8 || bits > 32 || stream.num_channels == 0) {
    throw UserError(
        "the WAV file in the pipe has samples of {} bits in format {}: make it 16-bit PCM", bits,
        kind);
  }
  if (stream.sample_rate < 4000 || stream.sample_rate > 192'000) {
    throw UserError("the WAV file in the pipe has {} Hz, but must have 4000 to 192000",
                    stream.sample_rate);
  }
  return stream;
}

float sample_at(std::string_view bytes, size_t begin, const WavStream& stream) {
  const size_t count = stream.bytes_per_sample;
  const uint32_t value = little_endian(bytes, begin, count);
  if (stream.is_float) {
    const float sample = std::bit_cast<float>(value);
    return std::isfinite(sample) ? std::clamp(sample, -1.0f, 1.0f) : 0;
  }
  if (count == 1) return (static_cast<float>(value) - 128) / 128;  // without a sign
  const auto whole = static_cast<int32_t>(value << (32 - 8 * count));
  return static_cast<float>(whole) / 2147483648.0f;
}

}  // namespace

bool is_wav(std::string_view bytes) {
  return bytes.size() >= kRiffHead && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WAVE";
}

std::optional<WavStream> read_wav_stream(std::string_view bytes) {
  std::string_view format;
  for (size_t place = kRiffHead; place + kChunkHead <= bytes.size();) {
    const std::string_view name = bytes.substr(place, 4);
    const size_t size = little_endian(bytes, place + 4, 4), begin = place + kChunkHead;
    if (name == "data") {
      WavStream stream = read_format(format);
      stream.begin = begin;
      if (size > 0 && size < kNotKnown) stream.size = size;
      return stream;
    }
    if (begin + size > bytes.size()) return std::nullopt;
    if (name == "fmt ") format = bytes.substr(begin, size);
    place = begin + size + size % 2;
  }
  return std::nullopt;
}

std::vector<float> WavStream::mono(std::string_view bytes) const {
  std::vector<float> samples(bytes.size() / bytes_per_frame());
  for (size_t i = 0; i < samples.size(); ++i) {
    float sum = 0;
    for (size_t channel = 0; channel < num_channels; ++channel) {
      sum += sample_at(bytes, i * bytes_per_frame() + channel * bytes_per_sample, *this);
    }
    samples[i] = sum / static_cast<float>(num_channels);
  }
  return samples;
}

}  // namespace predgen
