#include "text/sentence/block_marks.h"

#include <algorithm>

#include "core/text.h"
#include "text/utf8.h"

namespace predgen {

Fence fence_at(OpenText whole, size_t at) {
  const OpenText text = whole.near(at);
  const BlockStart start = skip_block_marks(text, at);
  if (!start.known) return {.begin = start.at, .known = false};
  const char mark = start.at < text.size() ? text[start.at] : ' ';
  if (mark != '`' && mark != '~') return {};
  Fence fence{.begin = start.at};
  const size_t end = std::min(text.bytes.find_first_not_of(mark, start.at), text.size());
  const size_t length = end - start.at;
  fence.known = end < text.size() || text.complete;
  if (fence.known && length < 3) return {};
  fence.length = length;
  const size_t line_end = std::min(text.bytes.find('\n', end), text.size());
  if (line_end == text.size() && text.size() < whole.size()) return {};  // too long to be real
  const std::string_view language = text.bytes.substr(end, line_end - end);
  if (mark == '`' && language.find('`') != std::string_view::npos) return {};
  const bool decorates = language.find(' ', 1) != std::string_view::npos;  // "~~~ So long ~~~"
  if (mark == '~' && decorates) return {};
  fence.known &= line_end < text.size() || text.complete;
  return fence;
}

std::optional<size_t> end_of_fenced_code(OpenText text, const Fence& fence, size_t& line) {
  constexpr std::string_view kSpace = " \t\r";
  while (true) {
    const size_t line_break = text.bytes.find('\n', line);
    if (line_break == std::string_view::npos) {
      line = text.size();
      break;
    }
    const size_t begin = line_break + 1;
    const OpenText near = text.near(begin);
    // In a quotation every line begins with the mark.
    const size_t first = std::min(near.bytes.find_first_not_of(" \t\r>", begin), near.size());
    const size_t end =
        std::min(near.bytes.find_first_not_of(text[fence.begin], first), near.size());
    const size_t rest = std::min(near.bytes.find_first_not_of(kSpace, end), near.size());
    if (rest == near.size() && !near.complete) return std::nullopt;
    const bool blank = rest == near.size() || near[rest] == '\n';
    if (end - first >= fence.length && blank) return end;
    line = begin;
  }
  if (!text.complete) return std::nullopt;
  return text.bytes.find_last_not_of(kAsciiSpace) + 1;
}

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
