#include "text/word_spacing.h"

#include "text/characters.h"

namespace predgen {

bool is_word_alone(char32_t c) {
  return (c >= 0x3000 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFF9F) ||
         (c >= 0x20000 && c <= 0x3FFFF);
}

bool has_no_word_spaces(char32_t c) {
  const bool is_thai_or_lao = c >= 0x0E00 && c <= 0x0EFF && c != 0x0E3F;  // not the baht's sign
  const bool is_burmese =
      (c >= 0x1000 && c <= 0x109F) || (c >= 0xA9E0 && c <= 0xA9FF) || (c >= 0xAA60 && c <= 0xAA7F);
  const bool is_khmer = c >= 0x1780 && c <= 0x17FF;
  return is_word_alone(c) || is_thai_or_lao || is_burmese || is_khmer;
}

std::string joined_words(std::string_view one, std::string_view other) {
  std::string joined(one);
  if (!one.empty() && !other.empty()) {
    const char32_t last = character_at(one, character_before(one, one.size())).code;
    const char32_t first = character_at(other, 0).code;
    if (!has_no_word_spaces(last) || !has_no_word_spaces(first)) joined += ' ';
  }
  return joined.append(other);
}

}  // namespace predgen
