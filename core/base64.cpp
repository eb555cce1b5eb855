#include "core/base64.h"

#include <array>
#include <cstdint>

namespace predgen {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int, 256> make_values() {
  std::array<int, 256> values{};
  for (int& value : values) value = -1;
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int>(i);
  }
  values['-'] = values['+'];
  values['_'] = values['/'];
  return values;
}

constexpr std::array<int, 256> kValues = make_values();  // -1: not a digit

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int num_bits = 0;
  size_t num_digits = 0, num_padding = 0;
  for (const char digit : text) {
    if (is_space(digit)) continue;
    if (digit == '=') {
      ++num_padding;
      continue;
    }
    const int value = kValues[static_cast<unsigned char>(digit)];
    if (value < 0 || num_padding > 0) return std::nullopt;
    ++num_digits;
    bits = bits << 6 | static_cast<uint32_t>(value);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes += static_cast<char>(bits >> num_bits & 0xFF);
  }
  if ((bits & ((1U << num_bits) - 1)) != 0) return std::nullopt;  // leftover bits
  const size_t last = num_digits % 4;  // digits of the last group, if it is not whole
  const bool may_be_padded = last > 0 && num_padding <= 4 - last;
  if (last == 1 || (num_padding > 0 && !may_be_padded)) return std::nullopt;
  return bytes;
}

}  // namespace predgen
