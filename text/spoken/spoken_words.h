#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// What a voice says for what is only written; English for a language without a list of its own.
struct SpokenSymbols {
  std::string_view language;  // the first part of its code: de of de-at
  std::string_view dot, at, conjunction, underscore, power;
  std::string_view code_omitted;
};
const SpokenSymbols& spoken_symbols(std::string_view language);

/// Addresses become their names ("https://www.example.com/a?b" "example dot com"), file names and
/// initials lose the points that would be heard as the end of a sentence, and so do the usual
/// abbreviations of `language`, as words (e.g. "for example"). In English also times (7:30 pm) and
/// amounts that a voice would break at their point ("$2.5 million", "€5"). Other numbers stay.
std::string spoken_words(std::string_view text, std::string_view language);

}  // namespace predgen
