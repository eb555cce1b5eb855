#include "text/sentence/sentence_marks.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.h"

namespace predgen {
namespace {

bool is_closer(char32_t code) {
  const auto c = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return code == '"' || code == '\'' || code == '*' || code == '_' || code == 0xFF02 ||
         code == 0xFF07 || c == UTF8PROC_CATEGORY_PE || c == UTF8PROC_CATEGORY_PF;
}

/// Quotes that open in one language and close in another: they close if a space follows.
bool may_close(std::string_view text, size_t i, Character c) {
  if (c.code != 0x201C && c.code != 0x2018 && c.code != 0xAB) return false;
  const size_t next = i + c.length;
  return next == text.size() || is_space(character_at(text, next).code);
}

/// The length of [1] or [^note] at byte `i`, as far as it has arrived; 0 for anything else.
size_t footnote_length(std::string_view text, size_t i) {
  constexpr size_t kMaxLength = 24;
  if (i >= text.size() || text[i] != '[') return 0;
  const bool named = i + 1 < text.size() && text[i + 1] == '^';
  size_t end = i + (named ? 2 : 1);
  const size_t first = end;
  while (end < text.size() && end - i < kMaxLength &&
         (named ? text[end] > ' ' && text[end] != ']' && text[end] != '[' : is_digit(text[end]))) {
    ++end;
  }
  if (end == text.size()) return end - i;
  return text[end] == ']' && end > first ? end + 1 - i : 0;
}

}  // namespace

Mark mark_of(char32_t code) {
  switch (code) {
    case '.':
      return Mark::kPeriod;
    case 0x2026:
      return Mark::kEllipsis;
    case '?':
    case '!':
    case 0x203C:
    case 0x203D:
    case 0x2047:
    case 0x2048:
    case 0x2049:
      return Mark::kQuestion;
    case 0x3002:
    case 0xFF01:
    case 0xFF1F:
    case 0xFF0E:
    case 0xFF61:
    case 0xFE52:
    case 0xFE56:
    case 0xFE57:  // CJK
    case 0x0964:
    case 0x0965:  // Devanagari
    case 0x061F:
    case 0x06D4:  // Arabic, Urdu
    case 0x0589:
    case 0x104B:
    case 0x1362:
    case 0x17D4:  // Armenian, Burmese, Ethiopic, Khmer
      return Mark::kFullStop;
    default:
      return Mark::kNone;
  }
}

MarkRun mark_run_at(std::string_view text, size_t begin) {
  MarkRun run{.begin = begin, .end = begin};
  while (run.end < text.size()) {
    const Character c = character_at(text, run.end);
    const Mark mark = mark_of(c.code);
    const size_t note = mark == Mark::kNone ? footnote_length(text, run.end) : 0;
    const bool closes = note > 0 || is_closer(c.code) || may_close(text, run.end, c);
    if (mark == Mark::kNone && !closes) break;
    if (mark == Mark::kPeriod) run.periods += 1;
    if (mark == Mark::kEllipsis) run.periods += 3;
    run.question |= mark == Mark::kQuestion;
    run.full_stop |= mark == Mark::kFullStop;
    run.closed = mark == Mark::kNone;
    run.quoted |= closes && c.code != '*' && c.code != '_';
    run.end += std::max(note, c.length);
  }
  return run;
}

}  // namespace predgen
