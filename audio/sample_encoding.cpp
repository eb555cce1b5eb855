#include "audio/sample_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>

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

}  // namespace predgen
