#pragma once

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

/// What a message quotes of a text that may be of any length: its first `most` bytes, and ".."
/// where that is not all. No character of UTF-8 is cut in two.
inline std::string shortened(std::string_view text, size_t most = 64) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "..";
}

}  // namespace predgen
