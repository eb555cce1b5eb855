#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Han, kana and their punctuation, which are written without spaces between words; a character
/// may be a word.
bool is_word_alone(char32_t c);

/// Whether the script of this character puts no spaces between words: those of is_word_alone(),
/// and Thai, Lao, Burmese and Khmer, whose words are letters in a row.
bool has_no_word_spaces(char32_t c);

/// Both, of which either may be empty: with a space between them, unless the scripts on both sides
/// of it have none. For parts of what was said, such as the segments of a recogniser.
std::string joined_words(std::string_view one, std::string_view other);

}  // namespace predgen
