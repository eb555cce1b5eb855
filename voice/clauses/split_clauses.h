#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// What is said between two marks.
struct Clause {
  std::string text;  // trimmed, with the marks at its end: what espeak-ng is given
  std::string mark;  // its melody: one of , ; : . ! ? and the dash and ellipsis; empty: none
};

/// The clauses of a sentence, in order: well-formed UTF-8, as speakable_text() gives it. Marks of
/// other scripts end them, too, and have the mark that means the same. What has no letter and no
/// digit is a part of the clause after it, or left out at the end.
std::vector<Clause> split_clauses(std::string_view text);

/// Whether nothing follows its clause in a sentence: . ! ? or an ellipsis.
bool ends_sentence(std::string_view mark);

}  // namespace predgen
