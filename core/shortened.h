#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// What a message quotes of a text that may be of any length: its first `most` bytes, and ".."
/// where that is not all. No character of UTF-8 is cut in two.
inline std::string shortened(std::string_view text, size_t most = 64) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "..";
}

}  // namespace predgen
