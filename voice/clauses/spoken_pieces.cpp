#include "voice/clauses/spoken_pieces.h"

#include <cstddef>
#include <utility>

#include "core/text.h"
#include "voice/clauses/speech_parts.h"

namespace predgen {
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
