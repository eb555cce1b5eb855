#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// The input of a voice for a sentence of an answer, on one line: markdown as running text
/// (markdown_text.h), addresses and abbreviations as words (spoken_words.h), no emoji, no control
/// characters, no ill-formed UTF-8; punctuation that shapes intonation stays. Empty if it has no
/// letter or digit. `language`: the voice's code, for inserted words.
/// It needs no state: SplitMode::kNatural keeps fenced code in one sentence.
std::string speakable_text(std::string_view sentence, std::string_view language = "en");

}  // namespace predgen
