#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// What a voice is given for a sentence of an answer, on one line: markdown as running text
/// (markdown_text.h), addresses and abbreviations as words (spoken_words.h), no emoji, no control
/// characters, no ill-formed UTF-8; the marks that make its melody stay. Empty if no letter and no
/// digit is in it. `language`: the voice's code, for the words that are put in.
/// It needs no state: SplitMode::kNatural keeps fenced code in one sentence.
std::string speakable_text(std::string_view sentence, std::string_view language = "en");

}  // namespace predgen
