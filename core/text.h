#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace predgen {

/// Whether there is nothing but white space (ASCII's six characters).
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

/// What a person reads of an error: those of LibTorch, of c10d and of Arrow go on with more.
inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// `text` without characters of `blank` at its ends.
inline std::string_view trimmed(std::string_view text, std::string_view blank = " \t\r\n\v\f") {
  const size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

/// Both with `between`, or the one that is not empty.
inline std::string joined(const std::string& one, std::string_view between,
                          const std::string& other) {
  if (one.empty() || other.empty()) return one + other;
  return (one + std::string(between)).append(other);
}

/// For the text of an HTML element or a quoted attribute.
inline std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Whether a byte of UTF-8 begins a character.
constexpr bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

/// Characters of well-formed UTF-8.
inline int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, begins_character);
}

/// The first `most` characters of `text`, or all.
inline std::string_view first_characters(std::string_view text, int64_t most) {
  size_t end = 0;
  for (int64_t count = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && count++ == most) break;
  }
  return text.substr(0, end);
}

/// The last `most` bytes of `text`, or fewer: in whole characters.
inline std::string_view last_bytes(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t begin = text.size() - most;
  while (begin < text.size() && !begins_character(text[begin])) ++begin;
  return text.substr(begin);
}

/// Bytes that both begin with, in whole characters.
inline size_t common_start(std::string_view one, std::string_view other) {
  auto same = static_cast<size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
  const auto is_inside = [&](std::string_view text) {
    return same < text.size() && !begins_character(text[same]);
  };
  while (same > 0 && (is_inside(one) || is_inside(other))) --same;
  return same;
}

/// What a message quotes of a text that may be of any length: its first `most` bytes, and ".."
/// where that is not all. No character of UTF-8 is cut in two.
inline std::string shortened(std::string_view text, size_t most = 64) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && !begins_character(text[most])) --most;
  return std::string(text.substr(0, most)) + "..";
}

}  // namespace predgen
