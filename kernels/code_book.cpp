#include "kernels/code_book.h"

#include <algorithm>
#include <cmath>

namespace predgen {
namespace {

constexpr int kMiddle = 128;  // of a byte
/// What the largest magnitude becomes in two bytes: the largest multiple of 192 that fits.
constexpr float kLargest = 32448.0f;

bool fits_a_byte(float value) { return value == std::round(value) && value >= -128 && value < 128; }

}  // namespace

CodeBook::CodeBook(const CodeValues& values) {
  std::ranges::fill(low, static_cast<uint8_t>(kMiddle));
  if (std::ranges::all_of(values, fits_a_byte)) {
    for (size_t code = 0; code < values.size(); ++code) {
      high[code] = static_cast<uint8_t>(static_cast<int>(values[code]) + kMiddle);
    }
    return;
  }
  num_bytes = 2;
  float largest = 0.0f;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  unit = largest * (256.0f / kLargest);
  for (size_t code = 0; code < values.size(); ++code) {
    const auto whole = static_cast<int>(std::lround(values[code] / largest * kLargest));
    // Both bytes are signed: 256 * (high - 128) + (low - 128).
    const int upper = (whole + kMiddle) >> 8;
    high[code] = static_cast<uint8_t>(upper + kMiddle);
    low[code] = static_cast<uint8_t>(whole - 256 * upper + kMiddle);
  }
}

}  // namespace predgen
