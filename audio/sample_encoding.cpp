#include "audio/sample_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.h"

namespace predgen {

std::vector<int16_t> to_pcm16(std::span<const float> samples) {
  std::vector<int16_t> values(samples.size());
  std::ranges::transform(samples, values.begin(), [](float sample) {
    return static_cast<int16_t>(std::lrint(std::clamp(sample * 32768.0f, -32768.0f, 32767.0f)));
  });
  return values;
}

std::string_view bytes_of(std::span<const int16_t> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::vector<float> from_pcm16(std::string_view bytes) {
  std::vector<float> samples(bytes.size() / 2);
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto low = static_cast<unsigned char>(bytes[2 * i]);
    const auto high = static_cast<unsigned char>(bytes[2 * i + 1]);
    samples[i] = static_cast<float>(static_cast<int16_t>(high << 8 | low)) / 32768.0f;
  }
  return samples;
}

namespace {

// A byte has a sign, the number of a segment (3 bits), each twice as wide as the one before, and a
// place in it (4 bits).
constexpr int kSign = 0x80, kPlaces = 0xF;
constexpr int kULawBias = 33;  // added so that segment n begins at a power of two
constexpr int kULawMost = 8158;
constexpr int kALawToggle = 0x55;  // on the line, every other bit is inverted

int num_bits(int size) { return static_cast<int>(std::bit_width(static_cast<unsigned>(size))); }

}  // namespace

uint8_t to_ulaw(int16_t sample) {
  const int value = sample / 4;  // 14 bits, towards zero
  const int sign = value < 0 ? kSign : 0;
  const int size = std::min(value < 0 ? -value : value, kULawMost) + kULawBias;
  const int segment = num_bits(size) - 6;
  const int place = size >> (segment + 1) & kPlaces;
  return static_cast<uint8_t>(~(sign | segment << 4 | place));
}

int16_t from_ulaw(uint8_t byte) {
  const int code = ~byte;
  const int segment = code >> 4 & 7, place = code & kPlaces;
  const int size = ((2 * place + kULawBias) << segment) - kULawBias;
  return static_cast<int16_t>(4 * ((code & kSign) != 0 ? -size : size));
}

uint8_t to_alaw(int16_t sample) {
  const int value = sample >> 3;                // 13 bits
  const int size = value < 0 ? ~value : value;  // the first segment is as wide as the second
  const int sign = value < 0 ? 0 : kSign;
  const int segment = std::max(num_bits(size) - 5, 0);
  const int place = size >> std::max(segment, 1) & kPlaces;
  return static_cast<uint8_t>((sign | segment << 4 | place) ^ kALawToggle);
}

int16_t from_alaw(uint8_t byte) {
  const int code = byte ^ kALawToggle;
  const int segment = code >> 4 & 7, place = code & kPlaces;
  const int size = segment == 0 ? 2 * place + 1 : (2 * place + 33) << (segment - 1);
  return static_cast<int16_t>(8 * ((code & kSign) != 0 ? size : -size));
}

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
