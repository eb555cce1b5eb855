#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// Characters that mean the same are the same after it (NFKC with case folding). UserError on
/// ill-formed UTF-8.
std::string folded(std::string_view text);

/// The words of a text with one blank between them, without case and punctuation, so that two
/// transcripts of the same speech are equal however a recogniser writes them: "Don't - go!" is
/// "dont go". Punctuation ends a word, but for an apostrophe within one. Letters are compared as
/// Unicode's case folding has them; symbols such as $ and + are parts of words.
std::string bare_words(std::string_view text);
/// Each of them.
std::vector<std::string> list_bare_words(std::string_view text);

}  // namespace predgen
