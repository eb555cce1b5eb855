#include "voice/clauses/split_clauses.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "text/characters.h"

namespace predgen {
namespace {

struct Mark {
  char32_t character;
  std::string_view mark;
  bool stands_alone;  // it ends a clause without a space after it
};

constexpr std::string_view kEllipsis = "\u2026", kDash = "\u2014";

constexpr Mark kMarks[] = {{U',', ",", false},
                           {U';', ";", false},
                           {U':', ":", false},
                           {U'.', ".", false},
                           {U'!', "!", false},
                           {U'?', "?", false},
                           {U'\u2026', kEllipsis, false},
                           {U'\u2014', kDash, true},
                           {U'\u2013', kDash, false},
                           {U'\u060C', ",", false},
                           {U'\u061B', ";", false},
                           {U'\u061F', "?", false},
                           {U'\u0964', ".", false},
                           {U'\u3001', ",", true},
                           {U'\u3002', ".", true},
                           {U'\uFF01', "!", true},
                           {U'\uFF0C', ",", true},
                           {U'\uFF1A', ":", true},
                           {U'\uFF1B', ";", true},
                           {U'\uFF1F', "?", true}};

const Mark* find_mark(char32_t character) {
  const auto* const found = std::ranges::find(kMarks, character, &Mark::character);
  return found == std::end(kMarks) ? nullptr : found;
}

/// Of several marks in a row, the earliest in this list sets the melody.
constexpr std::array<std::string_view, 8> kByStrength{"?", "!", kEllipsis, ".",
                                                      ";", ":", kDash,     ","};

bool is_stronger(std::string_view one, std::string_view other) {
  return std::ranges::find(kByStrength, one) < std::ranges::find(kByStrength, other);
}

bool is_closing(char32_t character) {
  constexpr std::u32string_view kClosing = U"\"')]}\u2019\u201D\u00BB\u300D\u300F\uFF09";
  return kClosing.find(character) != std::u32string_view::npos;
}

/// Marks in a row, and the closing quotes and brackets after them.
struct MarkRun {
  size_t end = 0;
  std::string_view mark;
  bool stands_alone = false;
};

/// Reads the run at byte `at`, where a mark is.
MarkRun read_marks(std::string_view text, size_t at) {
  MarkRun run{.end = at, .mark = {}};
  int num_dots = 0;
  while (run.end < text.size()) {
    const Character character = character_at(text, run.end);
    const Mark* const mark = find_mark(character.code);
    if (mark == nullptr) break;
    if (run.mark.empty() || is_stronger(mark->mark, run.mark)) run.mark = mark->mark;
    run.stands_alone |= mark->stands_alone;
    if (character.code == U'.') ++num_dots;
    run.end += character.length;
  }
  if (num_dots > 1 && run.mark == ".") run.mark = kEllipsis;
  while (run.end < text.size()) {
    const Character character = character_at(text, run.end);
    if (!is_closing(character.code)) break;
    run.end += character.length;
  }
  return run;
}

/// "- " after a space is a dash.
bool is_hyphen_dash(std::string_view text, size_t at) {
  return text.substr(at, 2) == "- " && at > 0 && text[at - 1] == ' ';
}

/// Whether the clause continues after marks without a space ("3.5"), or a point before a lower-case
/// letter.
bool goes_on(std::string_view text, const MarkRun& run) {
  if (run.end == text.size()) return false;
  if (!is_space(character_at(text, run.end).code)) return !run.stands_alone;
  const size_t next = skip_space(text, run.end);
  return run.mark == "." && next < text.size() && is_lower(character_at(text, next).code);
}

}  // namespace

std::vector<Clause> split_clauses(std::string_view text) {
  std::vector<Clause> clauses;
  size_t begin = 0;
  bool has_content = false;
  const auto end_clause = [&](size_t end, std::string_view mark) {
    clauses.push_back({std::string(trimmed(text.substr(begin, end - begin))), std::string(mark)});
    begin = end;
    has_content = false;
  };
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (is_hyphen_dash(text, at)) {
      if (has_content) end_clause(at + 1, kDash);
      ++at;
    } else if (find_mark(character.code) != nullptr) {
      const MarkRun run = read_marks(text, at);
      if (has_content && !goes_on(text, run)) end_clause(run.end, run.mark);
      at = run.end;
    } else {
      has_content |= is_letter_or_digit(character.code);
      at += character.length;
    }
  }
  if (has_content) end_clause(text.size(), {});
  return clauses;
}

bool ends_sentence(std::string_view mark) {
  return mark == "." || mark == "!" || mark == "?" || mark == kEllipsis;
}

}  // namespace predgen
