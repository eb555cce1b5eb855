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

/// The input of a voice for a sentence of an answer, on one line: markdown as running text
/// (markdown_text.h), addresses and abbreviations as words (spoken_words()), no emoji, no control
/// characters, no ill-formed UTF-8; punctuation that shapes intonation stays. Empty if it has no
/// letter or digit. `language`: the voice's code, for inserted words.
/// It needs no state: SplitMode::kNatural keeps fenced code in one sentence.
std::string speakable_text(std::string_view sentence, std::string_view language = "en");

}  // namespace predgen
