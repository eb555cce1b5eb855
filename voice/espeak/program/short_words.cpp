// SPDX-License-Identifier: GPL-3.0-or-later
#include "short_words.h"

#include <cctype>

std::string in_short_words(const std::string& text) {
  constexpr size_t kMostBytes = 100, kMostDots = 12;
  std::string broken;
  size_t num_bytes = 0;     // of the word so far
  size_t num_dots = 0;      // after letters, since the last plain word
  size_t num_letters = 0;   // in a row, of ASCII: others may be blanks for espeak
  bool has_letter = false;  // since the last dot
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool begins = (byte & 0xC0) != 0x80;  // a character of UTF-8
    const bool is_letter = std::isalnum(byte) != 0;
    num_letters = is_letter ? num_letters + 1 : 0;
    if (num_letters > 1) num_dots = 0;
    has_letter |= is_letter || byte >= 0x80;
    const bool is_dot = c == '.' && has_letter;
    if (is_dot) has_letter = false;
    const bool is_one_too_many = is_dot && ++num_dots > kMostDots;
    if (is_one_too_many) num_dots = 0;
    if (std::isspace(byte) != 0 || is_one_too_many) {
      num_bytes = 0;
    } else if (begins && num_bytes >= kMostBytes) {
      broken += ' ';
      num_bytes = 0;
    }
    ++num_bytes;
    broken += is_one_too_many ? ' ' : c;
  }
  return broken;
}
