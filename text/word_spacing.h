#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Whether a character is Han, kana or their punctuation, written without spaces between words; one
/// character may be a word.
bool is_word_alone(char32_t c);

/// Whether the script of this character puts no spaces between words: those of is_word_alone(), and
/// Thai, Lao, Burmese and Khmer, whose words have several letters.
bool has_no_word_spaces(char32_t c);

/// Joins two texts, either of which may be empty, with a space, unless the scripts on both sides of
/// it use none. For parts of speech such as a recogniser's segments.
std::string joined_words(std::string_view one, std::string_view other);

}  // namespace predgen
