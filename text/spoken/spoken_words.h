#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Spoken words for written symbols; English for a language without a list of its own.
struct SpokenSymbols {
  std::string_view language;  // the first part of its code: de of de-at
  std::string_view dot, at, conjunction, underscore, power;
  std::string_view code_omitted;
};
const SpokenSymbols& spoken_symbols(std::string_view language);

/// Addresses become their names ("https://www.example.com/a?b" "example dot com"), file names and
/// initials lose points that would sound like the end of a sentence, and the usual abbreviations of
/// `language` become words (e.g. "for example"). In English also figures (english_figures.h). Other
/// numbers stay.
std::string spoken_words(std::string_view text, std::string_view language);

}  // namespace predgen
