#include "text/sentence/block_marks.h"

#include <algorithm>

#include "text/characters.h"
#include "text/sentence/fenced_code.h"

namespace predgen {
namespace {

constexpr std::string_view kBlank = " \t\r";

size_t skip_any_of(std::string_view text, std::string_view characters, size_t i) {
  return std::min(text.find_first_not_of(characters, i), text.size());
}

bool is_bullet(char32_t code) {
  constexpr std::u32string_view kBullets = U"\u2022\u2023\u25e6\u25aa\u25cf\u2043";
  return kBullets.find(code) != std::u32string_view::npos;
}

/// Three or more of one mark and nothing else: ---, * * *
Verdict judge_rule(OpenText text, size_t i) {
  if (std::string_view("-*_=").find(text[i]) == std::string_view::npos) return Verdict::kContinue;
  const char marks[] = {text[i], ' ', '\r'};
  const size_t end = skip_any_of(text.bytes, {marks, sizeof marks}, i);
  if (end == text.size() && !text.complete) return Verdict::kWait;
  const bool whole = end == text.size() || text[end] == '\n';
  const std::string_view line = text.bytes.substr(i, end - i);
  return whole && std::ranges::count(line, text[i]) >= 3 ? Verdict::kEnd : Verdict::kContinue;
}

Verdict judge_heading(OpenText text, size_t i) {
  const size_t end = skip_any_of(text.bytes, "#", i);
  if (end == i || end - i > 6) return Verdict::kContinue;
  if (end == text.size()) return text.complete ? Verdict::kContinue : Verdict::kWait;
  return text[end] == ' ' ? Verdict::kEnd : Verdict::kContinue;
}

}  // namespace

BlockMark block_mark_at(OpenText text, size_t i) {
  if (i >= text.size()) return {0, text.complete};
  if (text[i] == '>') return {1, true};
  const Character first = character_at(text.bytes, i);
  if (is_bullet(first.code)) return {first.length, true};
  size_t end = i;
  if (std::string_view("-*+").find(text[i]) != std::string_view::npos) {
    ++end;
  } else {
    while (end < text.size() && is_digit(text[end]) && end - i <= kMaxListDigits) ++end;
    if (end == i || end - i > kMaxListDigits) return {};
    if (end == text.size()) return {0, text.complete};
    if (text[end] != '.' && text[end] != ')') return {};
    ++end;
  }
  if (end == text.size()) return {0, text.complete};
  return {text[end] == ' ' || text[end] == '\t' ? end + 1 - i : 0, true};
}

BlockStart skip_block_marks(OpenText text, size_t i) {
  while (true) {
    i = skip_any_of(text.bytes, kBlank, i);
    const BlockMark mark = block_mark_at(text, i);
    if (mark.length == 0) return {i, mark.known};
    i += mark.length;
  }
}

Verdict line_starts_block(OpenText text, size_t i) {
  i = skip_any_of(text.bytes, kBlank, i);
  if (i == text.size()) return text.at_end();
  if (text[i] == '\n' || text[i] == '|') return Verdict::kEnd;
  if (is_picture(character_at(text.bytes, i).code)) return Verdict::kEnd;
  const BlockMark mark = block_mark_at(text, i);
  if (mark.length > 0) return Verdict::kEnd;
  if (const Fence fence = fence_at(text, i); fence.length > 0) {
    return fence.known ? Verdict::kEnd : Verdict::kWait;
  }
  for (const auto judge : {judge_heading, judge_rule}) {
    if (const Verdict verdict = judge(text, i); verdict != Verdict::kContinue) return verdict;
  }
  return mark.known ? Verdict::kContinue : Verdict::kWait;
}

}  // namespace predgen
