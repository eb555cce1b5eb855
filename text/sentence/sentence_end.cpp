#include "text/sentence/sentence_end.h"

#include <algorithm>

#include "core/text.h"
#include "text/characters.h"
#include "text/sentence/block_marks.h"
#include "text/sentence/sentence_marks.h"
#include "text/sentence/sentence_period.h"

namespace predgen {
namespace {

/// Scripts written without spaces, and pictures: a sentence may begin here without a space before.
bool needs_no_space(char32_t code) { return code >= 0x2E80 && code != 0xFFFD; }

/// Joins the following words to a quotation: a comma, or Japanese "to" and "tte".
bool goes_on_after_quote(char32_t code) {
  return code == 0xFF0C || code == 0x3001 || code == 0xFF1A || code == 0xFF1B || code == 0x3068 ||
         code == 0x3063;
}

/// The full-width period in a full-width number.
bool is_wide_decimal(std::string_view text, const MarkRun& run, char32_t following) {
  const auto is_wide_digit = [](char32_t code) { return code >= 0xFF10 && code <= 0xFF19; };
  return run.end - run.begin == 3 && character_at(text, run.begin).code == 0xFF0E &&
         run.begin >= 3 && is_wide_digit(character_at(text, run.begin - 3).code) &&
         is_wide_digit(following);
}

/// `text` begins with the sentence.
Verdict judge_run(OpenText text, const MarkRun& run) {
  if (run.end == text.size()) return text.at_end();
  const char32_t following = character_at(text.bytes, run.end).code;
  if (run.closed && goes_on_after_quote(following)) return Verdict::kContinue;
  if (run.full_stop) {
    const bool decimal = is_wide_decimal(text.bytes, run, following);
    return decimal ? Verdict::kContinue : Verdict::kEnd;
  }
  if (!is_space(following)) {  // 3.5, example.com, p.m., etc.), "Stop!", he said
    const bool ellipsis = run.periods > 1 && !run.question && !run.closed;
    if (ellipsis && is_letter_or_digit(following)) return Verdict::kContinue;
    if (needs_no_space(following)) return Verdict::kEnd;
    return is_upper(following) && !run.is_single_period() ? Verdict::kEnd : Verdict::kContinue;
  }
  const size_t next = skip_space(text.bytes, run.end);
  if (run.is_single_period() && !run.quoted) return judge_period(text, run.begin, next);
  if (run.question && !run.closed) return Verdict::kEnd;
  // Ellipses and closed quotes: lower case continues the sentence.
  if (next == text.size()) return text.at_end();
  return is_lower(character_at(text.bytes, next).code) ? Verdict::kContinue : Verdict::kEnd;
}

}  // namespace

/// False if the text does not yet show how the sentence begins.
bool SentenceEndFinder::begin_sentence(OpenText text) {
  begin_ = skip_space(text.bytes, std::max(begin_, end_));
  if (begin_ == text.size()) return false;
  const bool at_line =
      begin_ == 0 || text.bytes.substr(end_, begin_ - end_).find('\n') != std::string_view::npos;
  fence_ = at_line ? fence_at(text, begin_) : Fence{.begin = begin_};
  if (!fence_.known) return false;
  if (at_line) quoted_ = text[begin_] == '>';
  fence_line_ = fence_.begin;
  at_ = begin_;
  begun_ = true;
  has_content_ = in_url_ = false;
  code_quote_ = 0;
  return true;
}

size_t SentenceEndFinder::end_sentence(size_t end) {
  begun_ = false;
  begin_ = end_ = end;
  return end;
}

/// Whether the sentence ends with the marks or before the line break at at_, whose bytes become
/// run_.
Verdict SentenceEndFinder::judge(OpenText whole, char32_t code) {
  OpenText text = whole.near(at_);
  if (code == '`') {
    const size_t end = std::min(text.bytes.find_first_not_of('`', at_), text.size());
    run_ = end - at_;
    return end == text.size() && !text.complete ? Verdict::kWait : Verdict::kContinue;
  }
  if (code == '\n') {
    size_t line = std::min(text.bytes.find_first_not_of(" \t\r", at_ + 1), text.size());
    while (quoted_ && line < text.size() && (text[line] == '>' || text[line] == ' ')) ++line;
    const Verdict verdict = line_starts_block(text, line);
    return verdict == Verdict::kEnd && !has_content_ ? Verdict::kContinue : verdict;
  }
  if (mark_of(code) == Mark::kNone || code_quote_ > 0) return Verdict::kContinue;
  text.bytes.remove_prefix(begin_);
  const MarkRun run = mark_run_at(text.bytes, at_ - begin_);
  run_ = run.end - run.begin;
  const bool space_follows =
      run.end < text.size() && is_space(character_at(text.bytes, run.end).code);
  if (in_url_ && !run.full_stop && run.end < text.size() && !space_follows) {
    return Verdict::kContinue;
  }
  const Verdict verdict = judge_run(text, run);
  return verdict == Verdict::kEnd && !has_content_ ? Verdict::kContinue : verdict;
}

/// Continues the sentence with the next `length` bytes.
void SentenceEndFinder::pass(std::string_view text, size_t length) {
  const Character c = character_at(text, at_);
  const std::string_view before = text.substr(begin_, at_ - begin_);
  if (c.code == '`') {
    if (code_quote_ == 0 || code_quote_ == length) code_quote_ = code_quote_ == 0 ? length : 0;
  } else if (c.code == '\n') {
    code_quote_ = 0;
    const size_t line = text.find_first_not_of(" \t\r", at_ + 1);
    quoted_ = line != std::string_view::npos && text[line] == '>';
  }
  if (is_space(c.code) || needs_no_space(c.code) || c.code == '<' || c.code == '>' ||
      c.code == '"') {
    in_url_ = false;
  }
  in_url_ |=
      (c.code == '/' && before.ends_with(":/")) || (c.code == '.' && before.ends_with("www"));
  has_content_ |= is_letter_or_digit(c.code) || is_picture(c.code);
  at_ += length;
}

std::optional<size_t> SentenceEndFinder::next(std::string_view bytes, bool complete) {
  const OpenText text{bytes, complete};
  if (!begun_ && !begin_sentence(text)) return std::nullopt;
  if (fence_.length > 0) {
    const auto end = end_of_fenced_code(text, fence_, fence_line_);
    return end ? std::optional(end_sentence(*end)) : std::nullopt;
  }
  while (at_ < bytes.size()) {
    const Character c = character_at(bytes, at_);
    run_ = c.length;
    const Verdict verdict = judge(text, c.code);
    if (verdict == Verdict::kWait) return std::nullopt;
    if (verdict == Verdict::kEnd) {
      return end_sentence(c.code == '\n' ? bytes.find_last_not_of(" \t\r\n", at_) + 1 : at_ + run_);
    }
    pass(bytes, run_);
  }
  if (!complete) return std::nullopt;
  return end_sentence(bytes.find_last_not_of(kAsciiSpace) + 1);
}

}  // namespace predgen
