#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace predgen {

/// The first byte of `text` that is not well-formed UTF-8; text.size() if there is none.
size_t first_ill_formed(std::string_view text);

/// UserError with `what` and the first bad byte's offset if `text` is not well-formed UTF-8.
void require_utf8(std::string_view text, std::string_view what);

/// The character that begins at byte `at` of a well-formed `text`; moves `at` past it.
char32_t next_character(std::string_view text, size_t& at);

/// Where the last character of a well-formed `text` begins; `text` is not empty.
size_t last_character(std::string_view text);

/// Unicode's White_Space.
bool is_white_space(char32_t character);

/// The length of `text` without the bytes of an incomplete last character.
size_t complete_utf8_length(std::string_view text);

/// Replaces every maximal ill-formed piece by U+FFFD, as Unicode recommends (and Python does).
std::string replace_ill_formed_utf8(std::string_view text);

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
