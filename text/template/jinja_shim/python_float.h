#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace predgen {

/// Formatted as by Python's json.dumps(): the fewest digits that round-trip. The engine writes
/// six.
inline std::string python_float(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::array<char, 64> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                     std::chars_format::scientific);
  const std::string whole(buffer.data(), written.ptr);
  const int exponent = std::atoi(whole.c_str() + whole.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return whole;  // both write an exponent of two digits
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  std::string text(buffer.data(), fixed.ptr);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace predgen
