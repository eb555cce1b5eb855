#pragma once

#include <cstdint>
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

}  // namespace predgen
