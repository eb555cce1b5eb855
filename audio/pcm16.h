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

}  // namespace predgen
