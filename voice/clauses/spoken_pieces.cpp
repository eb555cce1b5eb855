#include "voice/clauses/spoken_pieces.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/text.h"
#include "text/utf8.h"

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

namespace {

constexpr std::string_view kSpaces = " \t\n";

/// The byte after the last mark in `text`; 0 if there is none.
size_t after_last_mark(std::string_view text) {
  constexpr std::array<std::string_view, 12> kEnds{". ",     "! ",     "? ",     "; ",
                                                   ": ",     ", ",     "\u3002", "\uff01",
                                                   "\uff1f", "\uff0c", "\u3001", " \u2014 "};
  size_t end = 0;
  for (const std::string_view mark : kEnds) {
    const size_t place = text.rfind(mark);
    if (place != std::string_view::npos) end = std::max(end, place + mark.size());
  }
  return end;
}

}  // namespace

std::vector<std::string> speech_parts(std::string_view text, int64_t max_characters) {
  std::vector<std::string> parts;
  while (!(text = trimmed(text, kSpaces)).empty()) {
    size_t end = first_characters(text, max_characters).size();
    if (end < text.size()) {
      const std::string_view fits =
          text.substr(0, end + 1);  // a space may follow the last character
      if (const size_t mark = after_last_mark(fits); mark > 0 && mark <= end + 1) {
        end = std::min(mark, end);
      } else if (const size_t space = fits.find_last_of(kSpaces); space != std::string_view::npos) {
        end = space;
      }
    }
    parts.emplace_back(trimmed(text.substr(0, end), kSpaces));
    text.remove_prefix(end);
  }
  return parts;
}

namespace {

/// The clauses, with too long ones cut into parts.
std::vector<Clause> cut_long(const std::vector<Clause>& clauses, int64_t longest) {
  std::vector<Clause> shorter;
  for (const Clause& clause : clauses) {
    for (std::string& part : speech_parts(clause.text, longest)) {
      shorter.push_back({std::move(part), {}});
    }
    if (!shorter.empty()) shorter.back().mark = clause.mark;
  }
  return shorter;
}

/// Characters of the clauses from `i` to the end of their sentence.
int64_t characters_left(const std::vector<Clause>& clauses, size_t i) {
  int64_t count = 0;
  for (; i < clauses.size(); ++i) {
    count += count_characters(clauses[i].text);
    if (ends_sentence(clauses[i].mark)) break;
  }
  return count;
}

/// One clause's answer, with one space between words and one '_' between phonemes.
std::string clean(std::string_view raw) {
  std::string cleaned;
  bool in_switch = false;
  for (const char c : raw) {
    if (c == '(' || c == ')') {
      in_switch = c == '(';
    } else if (c == ' ' || c == '\n') {
      while (cleaned.ends_with('_')) cleaned.pop_back();
      if (!cleaned.empty() && cleaned.back() != ' ') cleaned += ' ';
    } else if (c == '_') {
      if (!cleaned.empty() && cleaned.back() != ' ' && cleaned.back() != '_') cleaned += '_';
    } else if (!in_switch) {
      cleaned += c;
    }
  }
  while (cleaned.ends_with(' ') || cleaned.ends_with('_')) cleaned.pop_back();
  return cleaned;
}

}  // namespace

std::vector<std::vector<Clause>> group_clauses(const std::vector<Clause>& clauses,
                                               const PieceLimits& limits) {
  const std::vector<Clause> all = cut_long(clauses, limits.longest);
  std::vector<std::vector<Clause>> groups;
  int64_t length = 0;  // of the last group, in characters
  bool ended = true;   // it is complete
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t more = count_characters(all[i].text);
    if (ended || length + more > limits.longest) {
      groups.emplace_back();
      length = 0;
    }
    groups.back().push_back(all[i]);
    length += more;
    ended = ends_sentence(all[i].mark) || all[i].mark.empty() ||
            (length >= limits.shortest && characters_left(all, i + 1) >= limits.shortest);
  }
  return groups;
}

SpokenPiece spoken_piece(const std::vector<Clause>& group,
                         const std::vector<std::string>& pronounced) {
  SpokenPiece piece;
  for (size_t i = 0; i < group.size(); ++i) {
    const std::string phonemes = clean(pronounced[i]);
    if (phonemes.empty()) continue;
    if (!piece.phonemes.empty()) piece.phonemes += ' ';
    piece.phonemes += phonemes + group[i].mark;
  }
  if (!group.empty()) piece.mark = group.back().mark;
  return piece;
}

std::vector<SpokenPiece> cut_phonemes(SpokenPiece piece, int64_t longest) {
  std::vector<SpokenPiece> parts;
  for (std::string& part : speech_parts(piece.phonemes, longest)) {
    parts.push_back({std::move(part), {}});
  }
  if (!parts.empty()) parts.back().mark = piece.mark;
  return parts;
}

std::vector<SpokenPiece> spoken_pieces(
    std::string_view text, int64_t longest,
    const std::function<std::vector<std::string>(const std::vector<std::string>&)>& pronounce) {
  const auto groups = group_clauses(split_clauses(text), {});
  std::vector<std::string> clauses;
  for (const auto& group : groups) {
    for (const Clause& clause : group) clauses.push_back(clause.text);
  }
  if (clauses.empty()) return {};
  const std::vector<std::string> pronounced = pronounce(clauses);
  std::vector<SpokenPiece> pieces;
  auto next = pronounced.begin();
  for (const auto& group : groups) {
    const auto end = next + static_cast<std::ptrdiff_t>(group.size());
    for (SpokenPiece& part : cut_phonemes(spoken_piece(group, {next, end}), longest)) {
      pieces.push_back(std::move(part));
    }
    next = end;
  }
  return pieces;
}

}  // namespace predgen
