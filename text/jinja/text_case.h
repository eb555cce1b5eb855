#pragma once

#include <string_view>

namespace predgen::jinja {

/// "ß SS Ss|ŉ ʼN ʼN|..": a character, its upper case, its title case.
std::string_view long_cases();
/// Categories do not tell these: str.isdigit(), str.isnumeric(), str.islower() and str.isupper().
bool is_digit_beyond_decimals(char32_t code);
bool is_numeric_letter(char32_t code);
bool is_lower_beyond_letters(char32_t code);
bool is_upper_beyond_letters(char32_t code);

}  // namespace predgen::jinja
