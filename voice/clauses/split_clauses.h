#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// The words between two marks.
struct Clause {
  std::string text;  // trimmed, with the marks at its end: espeak-ng's input
  std::string mark;  // its melody: one of , ; : . ! ? and the dash and ellipsis; empty: none
};

/// The clauses of a sentence, in order: well-formed UTF-8, as speakable_text() gives it. Marks of
/// other scripts also end clauses and are mapped to the equivalent mark. Text without letters and
/// digits joins the clause after it, or is dropped at the end.
std::vector<Clause> split_clauses(std::string_view text);

/// Whether the mark ends a sentence: . ! ? or an ellipsis.
bool ends_sentence(std::string_view mark);

}  // namespace predgen
