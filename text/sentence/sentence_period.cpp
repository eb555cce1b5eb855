#include "text/sentence/sentence_period.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "text/characters.h"
#include "text/sentence/abbreviation_table.h"
#include "text/sentence/block_marks.h"

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

}  // namespace

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

}  // namespace predgen
