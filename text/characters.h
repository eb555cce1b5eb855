#pragma once

#include <cstddef>
#include <string_view>

#include "text/utf8.h"

namespace predgen {

/// A Unicode character and its bytes in UTF-8.
struct Character {
  char32_t code = 0;
  size_t length = 1;
};

/// The character at byte `i` of `text`; U+FFFD of one byte if ill-formed.
Character character_at(std::string_view text, size_t i);

/// Where the character before byte `i` (> 0) begins.
inline size_t character_before(std::string_view text, size_t i) {
  return last_character(text.substr(0, i));
}

bool is_upper(char32_t code);
bool is_lower(char32_t code);
bool is_letter(char32_t code);
bool is_letter_or_digit(char32_t code);
bool is_picture(char32_t code);  // an emoji or another symbol that is not punctuation
inline bool is_space(char32_t code) { return is_white_space(code); }

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The first byte from `i` on that is not white space; text.size() if there is none.
size_t skip_space(std::string_view text, size_t i);

}  // namespace predgen
