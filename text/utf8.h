#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace predgen {

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

}  // namespace predgen
