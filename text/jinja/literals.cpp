#include "text/jinja/literals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "text/jinja/python_text.h"
#include "text/utf8.h"

namespace predgen::jinja {
namespace {

int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/// Appends the character of an escape with hexadecimal digits; returns how many there are.
size_t append_hexadecimal(std::string& result, std::string_view digits, size_t count) {
  char32_t code = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i >= digits.size() || digit_of(digits[i]) >= 16) {
      throw Failure(fmt::format("an escape in a text needs {} hexadecimal digits", count));
    }
    code = code * 16 + static_cast<char32_t>(digit_of(digits[i]));
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    throw Failure("an escape in a text is no character");
  }
  append_code(result, code);
  return count;
}

size_t append_octal(std::string& result, std::string_view digits) {
  char32_t code = 0;
  size_t count = 0;
  while (count < 3 && count < digits.size() && digits[count] >= '0' && digits[count] <= '7') {
    code = code * 8 + static_cast<char32_t>(digits[count++] - '0');
  }
  append_code(result, code);
  return count;
}

/// Appends what the escape at the front of `text` means; returns its length behind the backslash.
size_t append_escape(std::string& result, std::string_view text) {
  constexpr std::string_view kNames = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const char c = text[0];
  if (c == '\n') return 1;
  if (const size_t at = kNames.find(c); at != std::string_view::npos) {
    result += kMeanings[at];
    return 1;
  }
  if (c == 'x') return 1 + append_hexadecimal(result, text.substr(1), 2);
  if (c == 'u') return 1 + append_hexadecimal(result, text.substr(1), 4);
  if (c == 'U') return 1 + append_hexadecimal(result, text.substr(1), 8);
  if (c == 'N') throw Failure("\\N{..} in a text is not supported: write the character");
  if (c >= '0' && c <= '7') return append_octal(result, text);
  result += '\\';  // stays
  result += c;
  return 1;
}

}  // namespace

std::string unescaped_literal(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      at += 1 + append_escape(result, text.substr(at + 1));
    } else {
      result += text[at++];
    }
  }
  return result;
}

namespace {

/// The length of digits, which single underscores may separate.
size_t length_of_digits(std::string_view text, int base) {
  size_t at = 0;
  while (at < text.size()) {
    const bool is_separator = text[at] == '_' && at + 1 < text.size();
    if (digit_of(text[is_separator ? at + 1 : at]) >= base) break;
    at += is_separator ? 2 : 1;
  }
  return at;
}

size_t length_of_exponent(std::string_view text) {
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return 0;
  const size_t sign = text.size() > 1 && (text[1] == '+' || text[1] == '-') ? 1 : 0;
  const size_t digits = text.size() > 1 + sign && is_digit(text[1 + sign])
                            ? length_of_digits(text.substr(1 + sign), 10)
                            : 0;
  return digits == 0 ? 0 : 1 + sign + digits;
}

}  // namespace

NumberLiteral read_number_literal(std::string_view text, bool may_be_float) {
  NumberLiteral result;
  int base = 10;
  size_t begin = 0;
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int other = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (other != 10 && length_of_digits(text.substr(2), other) > 0) {
      base = other;
      begin = 2;
    }
  }
  result.length = begin + length_of_digits(text.substr(begin), base);
  if (base == 10 && may_be_float) {
    const std::string_view rest = text.substr(result.length);
    size_t more = 0;
    if (rest.size() > 1 && rest[0] == '.' && is_digit(rest[1])) {
      more = 1 + length_of_digits(rest.substr(1), 10);
    }
    more += length_of_exponent(rest.substr(more));
    result.is_float = more > 0;
    result.length += more;
  }
  std::string digits(text.substr(begin, result.length - begin));
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (result.is_float) {
    result.number = std::strtod(digits.c_str(), nullptr);
    return result;
  }
  for (const char c : digits) {
    const bool too_big = __builtin_mul_overflow(result.integer, Int{base}, &result.integer) ||
                         __builtin_add_overflow(result.integer, Int{digit_of(c)}, &result.integer);
    if (too_big) result.fits = false;
  }
  return result;
}

}  // namespace predgen::jinja
