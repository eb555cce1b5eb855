#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace predgen {

inline constexpr std::string_view kAsciiSpace = " \t\r\n\v\f";

/// Whether `text` is all white space of ASCII.
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(kAsciiSpace) == std::string_view::npos;
}

/// The readable part of an error message: LibTorch, c10d and Arrow append more to theirs.
inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// A letter of ASCII as a small one; other bytes as they are.
constexpr char lower_ascii(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}
inline std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) byte = lower_ascii(byte);
  return lower;
}

/// `text` without characters of `blank` at either end.
inline std::string_view trimmed(std::string_view text, std::string_view blank = kAsciiSpace) {
  const size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

/// Both joined by `between`, or the one that is not empty.
inline std::string joined(const std::string& one, std::string_view between,
                          const std::string& other) {
  if (one.empty() || other.empty()) return one + other;
  return (one + std::string(between)).append(other);
}

/// Whether a byte of UTF-8 begins a character.
constexpr bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

/// Number of characters in well-formed UTF-8.
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

/// The last `most` bytes of `text`, or fewer to keep characters whole.
inline std::string_view last_bytes(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t begin = text.size() - most;
  while (begin < text.size() && !begins_character(text[begin])) ++begin;
  return text.substr(begin);
}

/// Length in bytes of the common prefix, in whole characters.
inline size_t common_start(std::string_view one, std::string_view other) {
  auto same = static_cast<size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
  const auto is_inside = [&](std::string_view text) {
    return same < text.size() && !begins_character(text[same]);
  };
  while (same > 0 && (is_inside(one) || is_inside(other))) --same;
  return same;
}

/// A text of any length shortened for a message: its first `most` bytes, and ".." if there is more.
/// No UTF-8 character is cut.
inline std::string shortened(std::string_view text, size_t most = 64) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && !begins_character(text[most])) --most;
  return std::string(text.substr(0, most)) + "..";
}

}  // namespace predgen
