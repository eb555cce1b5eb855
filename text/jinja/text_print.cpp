// How Python and JSON write texts and numbers.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text/jinja/python_text.h"

namespace predgen::jinja {

std::string quoted_text(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      result += '\\';
      result += static_cast<char>(code);
    } else if (code == '\n') {
      result += "\\n";
    } else if (code == '\r') {
      result += "\\r";
    } else if (code == '\t') {
      result += "\\t";
    } else if (is_printable(code)) {
      result += text.substr(begin, at - begin);
    } else if (code <= 0xFF) {
      result += fmt::format("\\x{:02x}", static_cast<uint32_t>(code));
    } else if (code <= 0xFFFF) {
      result += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
    } else {
      result += fmt::format("\\U{:08x}", static_cast<uint32_t>(code));
    }
  }
  return result + quote;
}

std::string json_quoted(std::string_view text, bool is_ascii) {
  std::string result = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    constexpr std::string_view kNamed = "\"\\\n\r\t\f\b", kNames = "\"\\nrtfb";
    const size_t named =
        code < 0x80 ? kNamed.find(static_cast<char>(code)) : std::string_view::npos;
    if (named != std::string_view::npos) {
      result += '\\';
      result += kNames[named];
    } else if (code >= 0x20 && (code < 0x80 || code == kHidden || !is_ascii)) {
      result += text.substr(begin, at - begin);
    } else if (code <= 0xFFFF) {
      result += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
    } else {
      const uint32_t pair = static_cast<uint32_t>(code) - 0x10000;
      result += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (pair >> 10), 0xDC00 + (pair & 0x3FF));
    }
  }
  return result + '"';
}

std::string printed_float(double number, bool is_json) {
  if (std::isnan(number)) return is_json ? "NaN" : "nan";
  if (std::isinf(number)) {
    return std::string(number > 0 ? "" : "-") + (is_json ? "Infinity" : "inf");
  }
  std::array<char, 64> buffer{};
  char* const end = buffer.data() + buffer.size();
  const auto written = std::to_chars(buffer.data(), end, number, std::chars_format::scientific);
  std::string whole(buffer.data(), written.ptr);
  const int exponent = std::atoi(whole.c_str() + whole.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return whole;  // both write an exponent of two digits
  const auto fixed = std::to_chars(buffer.data(), end, number, std::chars_format::fixed);
  std::string text(buffer.data(), fixed.ptr);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace predgen::jinja
