#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

// What Python's str does, on UTF-8. Bytes that are not UTF-8 stand for what a template must not
// see: 0xFF and the byte behind it are one character, others one each, and none is a letter.

namespace predgen::jinja {

/// Of a character that a template must not see.
constexpr char32_t kHidden = 0xFFFFFFFF;

/// The character at byte `at`, which moves behind it.
char32_t next_code(std::string_view text, size_t& at);
void append_code(std::string& text, char32_t code);
/// Where `part` begins, from byte `from` on, or npos: in time that grows with the lengths only.
size_t find_text(std::string_view text, std::string_view part, size_t from);
size_t find_last_text(std::string_view text, std::string_view part);
size_t count_characters(std::string_view text);
std::vector<std::string_view> characters_of(std::string_view text);

/// The byte at which character `index` begins; the end for the number of characters.
size_t byte_of(const Text& text, size_t index);
/// The character at whose first byte `byte` is.
size_t character_of(const Text& text, size_t byte);

/// What str.isalpha() and its kin ask of each character.
bool is_alphabetic(char32_t code);
bool is_decimal(char32_t code);
bool is_digit_code(char32_t code);
bool is_numeric(char32_t code);
bool is_lower_code(char32_t code);
bool is_upper_code(char32_t code);
bool is_title_code(char32_t code);
bool is_space_code(char32_t code);
bool is_printable(char32_t code);
/// \w
bool is_word(char32_t code);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// str.title(): every letter behind another is lower.
std::string title(std::string_view text);
std::string capitalized(std::string_view text);
std::string swapped_case(std::string_view text);
std::string folded_case(std::string_view text);

/// Without what `chars` has at its ends; white space if that is not given.
std::string_view stripped(std::string_view text, std::optional<std::string_view> chars, bool left,
                          bool right);
/// split() and rsplit(); white space if no `separator` is given; at most `most` cuts, or all if it
/// is negative.
std::vector<std::string_view> split(Budget& budget, std::string_view text,
                                    std::optional<std::string_view> separator, int64_t most,
                                    bool from_right);
std::vector<std::string_view> split_lines(std::string_view text, bool keeps_ends);
std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view by, int64_t most);

/// repr()
std::string quoted_text(std::string_view text);
std::string json_quoted(std::string_view text, bool is_ascii);
/// repr() of a float; in JSON "NaN" and "Infinity".
std::string printed_float(double number, bool is_json = false);

/// "ß SS Ss|ŉ ʼN ʼN|..": a character, its upper case, its title case.
std::string_view long_cases();
/// Categories do not tell these: str.isdigit(), str.isnumeric(), str.islower() and str.isupper().
bool is_digit_beyond_decimals(char32_t code);
bool is_numeric_letter(char32_t code);
bool is_lower_beyond_letters(char32_t code);
bool is_upper_beyond_letters(char32_t code);

}  // namespace predgen::jinja
