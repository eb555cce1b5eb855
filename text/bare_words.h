#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// Maps equivalent characters to the same one (NFKC with case folding). UserError on ill-formed
/// UTF-8.
std::string folded(std::string_view text);

/// The words of a text, as white space parts them.
std::vector<std::string> list_words(const std::string& text);
/// The words of a text joined by single spaces, without case and punctuation, so that two
/// transcripts of the same speech are equal however a recogniser writes them: "Don't - go!" is
/// "dont go". Punctuation ends a word, except an apostrophe within one. Letters are compared by
/// Unicode case folding; symbols such as $ and + are parts of words.
std::string bare_words(std::string_view text);
/// The same words as a list.
std::vector<std::string> list_bare_words(std::string_view text);

}  // namespace predgen
