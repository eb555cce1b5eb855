#pragma once

#include <bit>
#include <cstdint>

// float16 as its bits, without LibTorch.

namespace predgen {

/// Rounds to nearest even; infinite from 65520 on.
inline uint16_t to_half(float value) {
  constexpr uint32_t kInfinity = 0x7F800000, kOverflow = 0x477FF000, kLeastNormal = 0x38800000;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
  uint32_t half = 0;
  if (size > kInfinity) {
    half = 0x7E00;
  } else if (size >= kOverflow) {
    half = 0x7C00;
  } else if (size < kLeastNormal) {
    // The last bit of 0.5 is the smallest float16.
    half =
        std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  } else {
    half = (size + 0xFFF + (size >> 13 & 1) - (112U << 23)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

inline float from_half(uint16_t half) {
  const uint32_t sign = (half & 0x8000U) << 16, size = half & 0x7FFFU;
  if (size < 0x400) {
    const float value = static_cast<float>(size) * 0x1p-24f;
    return sign == 0 ? value : -value;
  }
  const uint32_t exponent = size < 0x7C00 ? 112U << 23 : 224U << 23;  // infinite and NaN stay so
  return std::bit_cast<float>(sign | ((size << 13) + exponent));
}

}  // namespace predgen
