#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace predgen {

/// Samples in [-1,1] as 16-bit values; what is beyond is cut off.
std::vector<int16_t> to_pcm16(std::span<const float> samples);

}  // namespace predgen
