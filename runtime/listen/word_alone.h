#pragma once

namespace predgen {

/// Han, kana and their punctuation, which are written without spaces between words.
inline bool is_word_alone(char32_t c) {
  return (c >= 0x3000 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFF9F) ||
         (c >= 0x20000 && c <= 0x3FFFF);
}

}  // namespace predgen
