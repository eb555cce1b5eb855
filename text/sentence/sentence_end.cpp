#include "text/sentence/sentence_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/text.h"
#include "text/sentence/abbreviation_table.h"
#include "text/sentence/block_marks.h"
#include "text/sentence/sentence_marks.h"
#include "text/utf8.h"

namespace predgen {
namespace {

// With a space before and after each.
constexpr std::string_view kAfterTime =
    " Monday Tuesday Wednesday Thursday Friday Saturday Sunday Eastern Pacific Central "
    "Mountain ET EST EDT PT PST PDT CT CST CDT MT MST MDT GMT UTC BST CET ";
constexpr std::string_view kSentenceStarters =
    " A After All Also An And Are As At Before But By Can Could Did Do Does For He Her Here "
    "His How However I If In Is It Its Let Many May Most My No Not On Or Our Please She "
    "Should So Some That The Their Then There These They This Those To We What When Where "
    "Which While Who Why Will With Would Sorry Sure Thank Thanks Unfortunately Anything Have "
    "Has Now Okay Yes You Your ";
constexpr std::string_view kAfterGermanOrdinal =
    " Januar Februar M\u00e4rz April Mai Juni Juli August September Oktober November Dezember "
    "Jahrhundert Weltkrieg ";

bool is_one_of(std::string_view word, std::string_view words) {
  return words.find(fmt::format(" {} ", word)) != std::string_view::npos;
}

/// The letters, digits and inner periods before byte `end`.
std::string_view word_before(std::string_view text, size_t end) {
  constexpr size_t kMaxBytes = 64;
  size_t begin = end;
  while (begin > 0 && end - begin < kMaxBytes) {
    const size_t last = character_before(text, begin);
    if (text[last] != '.' && !is_letter_or_digit(character_at(text, last).code)) break;
    begin = last;
  }
  return text.substr(begin, end - begin);
}

/// Whether it alternates letters and periods, e.g. U.S or e.g
bool is_dotted(std::string_view word) {
  bool letter = false, dotted = false;
  for (size_t i = 0; i < word.size();) {
    const Character c = character_at(word, i);
    if (letter ? c.code != '.' : !is_letter(c.code)) return false;
    dotted |= c.code == '.';
    letter = !letter;
    i += c.length;
  }
  return letter && dotted;
}

bool starts_line(std::string_view text, size_t i) {
  while (i > 0 && std::string_view(" \t*_#>(-").find(text[i - 1]) != std::string_view::npos) --i;
  return i == 0 || text[i - 1] == '\n';
}

/// "Kalpana I. Rao" against "So am I."
bool follows_name(std::string_view text, size_t word) {
  if (word < 2 || text[word - 1] != ' ') return false;
  const size_t space = text.find_last_of(" \n", word - 2);
  return space != std::string_view::npos && is_upper(character_at(text, space + 1).code);
}

/// "168 Hamilton St.": a number shortly before makes it a street, otherwise it is a saint.
bool is_street(std::string_view text, size_t word) {
  for (int words = 0; words < 3 && word > 0; ++words) {
    const size_t end = text.find_last_not_of(" \t\n", word - 1);
    if (end == std::string_view::npos) return false;
    const size_t space = text.find_last_of(" \t\n", end);
    word = space == std::string_view::npos ? 0 : space + 1;
    if (is_digit(text[word])) return true;
  }
  return false;
}

/// The letters from byte `at` on.
std::string_view letters_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size()) {
    const Character c = character_at(text, end);
    if (!is_letter(c.code)) break;
    end += c.length;
  }
  return text.substr(at, end - at);
}

/// One letter and a period, as in "J. K." and "z. B."; needs a byte after the letter.
bool is_initial(std::string_view text, size_t at) {
  const Character c = character_at(text, at);
  return is_letter(c.code) && at + c.length < text.size() && text[at + c.length] == '.';
}

/// The number of a list item, an ordinal of a date, or just a number.
Verdict judge_number(OpenText text, std::string_view number, size_t next) {
  constexpr size_t kMaxOrdinal = 2;  // digits
  const auto begin = static_cast<size_t>(number.data() - text.bytes.data());
  const bool is_short = std::min(number.find('.'), number.size()) <= kMaxListDigits;
  if (is_short && starts_line(text.bytes, begin)) return Verdict::kContinue;
  if (number.size() > kMaxOrdinal) return Verdict::kEnd;
  if (next == text.size()) return text.at_end();
  if (is_lower(character_at(text.bytes, next).code)) return Verdict::kContinue;
  const std::string_view word = letters_at(text.bytes, next);
  const bool may_grow = next + word.size() == text.size() && !text.complete;
  const bool begins_one = kAfterGermanOrdinal.find(fmt::format(" {}", word)) != std::string::npos;
  if (may_grow && begins_one) return Verdict::kWait;  // Juli or Julia
  return is_one_of(word, kAfterGermanOrdinal) ? Verdict::kContinue : Verdict::kEnd;
}

/// After initials and dotted letters: many names continue with a capital, so only a word that
/// cannot be a name ends the sentence.
Verdict judge_after_initials(OpenText text, size_t next) {
  const Character first = character_at(text.bytes, next);
  if (!is_letter(first.code)) {
    const bool goes_on = is_digit(text[next]) || first.code == '(';
    return goes_on ? Verdict::kContinue : Verdict::kEnd;
  }
  if (is_lower(first.code)) return Verdict::kContinue;
  const std::string_view word = letters_at(text.bytes, next);
  if (next + word.size() == text.size() && !text.complete) return Verdict::kWait;
  const bool ends = !is_initial(text.bytes, next) && is_one_of(word, kSentenceStarters);
  return ends ? Verdict::kEnd : Verdict::kContinue;
}

/// After an abbreviation that may end a sentence. `time`: a.m. and p.m.
Verdict judge_after_abbreviation(OpenText text, size_t next, bool time) {
  const char32_t first = character_at(text.bytes, next).code;
  if (is_lower(first) || is_digit(text[next]) || first == '(') return Verdict::kContinue;
  if (!time || !is_letter(first)) return Verdict::kEnd;
  const std::string_view word = letters_at(text.bytes, next);
  if (next + word.size() == text.size() && !text.complete) return Verdict::kWait;
  return is_one_of(word, kAfterTime) ? Verdict::kContinue : Verdict::kEnd;
}

/// A single letter: an initial, a list's "a.", "I", or a name such as x.
Verdict judge_letter(OpenText text, std::string_view letter, size_t next) {
  const auto begin = static_cast<size_t>(letter.data() - text.bytes.data());
  if (starts_line(text.bytes, begin)) return Verdict::kContinue;
  if (letter == "I" && !follows_name(text.bytes, begin)) return Verdict::kEnd;
  const char32_t code = character_at(letter, 0).code;
  if (!is_upper(code) && !is_lower(code)) return Verdict::kEnd;
  if (next == text.size()) return text.at_end();
  if (is_upper(code)) return judge_after_initials(text, next);
  const Character first = character_at(text.bytes, next);
  if (is_lower(first.code)) return Verdict::kContinue;
  if (next + first.length == text.size() && !text.complete) return Verdict::kWait;
  return is_initial(text.bytes, next) ? Verdict::kContinue : Verdict::kEnd;
}

/// Whether the period at byte `period`, with white space after it, ends the sentence that `text`
/// begins with, or belongs to an abbreviation, an initial, a date or the number of a list item.
/// `next`: where the next word begins; text.size() if it has not arrived yet.
Verdict judge_period(OpenText text, size_t period, size_t next) {
  const std::string_view word = word_before(text.bytes, period);
  if (word.empty()) return Verdict::kEnd;
  if (std::ranges::all_of(word, [](char c) { return is_digit(c) || c == '.'; })) {
    return judge_number(text, word, next);
  }
  const std::string_view before = text.bytes.substr(0, period + 1);
  std::optional<PointUse> use = point_use(before);
  if (word == "St" && is_street(text.bytes, period - word.size())) use = PointUse::kMayEnd;
  if (use == PointUse::kGoesOn) return Verdict::kContinue;
  if (use) {
    if (next == text.size()) return text.at_end();
    if (use == PointUse::kMayEnd) {
      const bool time = word.ends_with(".m") || word.ends_with(".M");
      return judge_after_abbreviation(text, next, time);
    }
    const bool lower = is_lower(character_at(text.bytes, next).code);
    const bool goes_on = is_digit(text[next]) || (lower && word != "no" && word != "No");
    return goes_on ? Verdict::kContinue : Verdict::kEnd;
  }
  if (word.size() == character_at(word, 0).length) return judge_letter(text, word, next);
  if (!is_dotted(word)) return Verdict::kEnd;
  if (is_lower(character_at(word, 0).code)) return Verdict::kContinue;  // e.g. and the like
  return next == text.size() ? text.at_end() : judge_after_initials(text, next);
}

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
