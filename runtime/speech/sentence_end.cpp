// find_sentence_end: the rules of natural sentences. A mark that may end one is judged by the
// characters around it; the verdict kWait means that the text does not yet say.
#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cctype>

#include "runtime/speech/fenced_code.h"
#include "runtime/speech/sentence_splitter.h"

namespace predgen {
namespace {

enum class Verdict { kEnd, kContinue, kWait };

/// The text up to `size` and one question everywhere: what stands at byte i?
struct Text {
  std::string_view bytes;
  bool complete;  // nothing will follow

  size_t size() const { return bytes.size(); }
  Verdict at_end_of_text() const { return complete ? Verdict::kEnd : Verdict::kWait; }
};

struct Character {
  char32_t code = 0;
  size_t length = 1;
};

Character character_at(std::string_view text, size_t i) {
  utf8proc_int32_t code = 0;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i,
                                       static_cast<utf8proc_ssize_t>(text.size() - i), &code);
  if (length <= 0) return {0xFFFD, 1};
  return {static_cast<char32_t>(code), static_cast<size_t>(length)};
}

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_upper(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LL; }
bool is_ascii_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char32_t code) {
  return code == ' ' || (code >= '\t' && code <= '\r') || code == 0xA0 || code == 0x3000;
}

bool is_letter_or_digit(char32_t code) {
  const auto c = category(code);
  return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
         (c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO);
}

/// Letters, digits and pictures; marks and dashes alone are not a sentence.
bool is_content(char32_t code) {
  return is_letter_or_digit(code) || category(code) == UTF8PROC_CATEGORY_SO;
}

/// Scripts written without spaces, and pictures: a sentence may begin here without a space before.
bool needs_no_space(char32_t code) { return code >= 0x2E80 && code != 0xFFFD; }

/// What joins the words behind a quotation to it: a comma, or Japanese "to" and "tte".
bool goes_on_after_quote(char32_t code) {
  return code == 0xFF0C || code == 0x3001 || code == 0xFF1A || code == 0xFF1B || code == 0x3068 ||
         code == 0x3063;
}

/// `words`: with a space before and after each.
bool is_one_of(std::string_view word, std::string_view words) {
  return words.find(fmt::format(" {} ", word)) != std::string_view::npos;
}

enum class Mark { kNone, kPeriod, kEllipsis, kQuestion, kFullStop };

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

bool is_closer(char32_t code) {
  const auto c = category(code);
  return code == '"' || code == '\'' || code == '*' || code == '_' || code == '`' ||
         code == 0xFF02 || code == 0xFF07 || c == UTF8PROC_CATEGORY_PE || c == UTF8PROC_CATEGORY_PF;
}

/// A run of marks with the quotes and brackets that close after them: `?!`, `...`, `."`, `!).`
struct Run {
  size_t begin = 0, end = 0;
  int periods = 0;
  bool question = false, full_stop = false, closed = false;
};

Run run_at(std::string_view text, size_t begin) {
  Run run{.begin = begin, .end = begin};
  while (run.end < text.size()) {
    const Character c = character_at(text, run.end);
    const Mark mark = mark_of(c.code);
    if (mark == Mark::kNone && !is_closer(c.code)) break;
    if (mark == Mark::kPeriod) run.periods += 1;
    if (mark == Mark::kEllipsis) run.periods += 3;
    run.question |= mark == Mark::kQuestion;
    run.full_stop |= mark == Mark::kFullStop;
    run.closed = mark == Mark::kNone;
    run.end += c.length;
  }
  return run;
}

size_t skip_space(std::string_view text, size_t i) {
  while (i < text.size()) {
    const Character c = character_at(text, i);
    if (!is_space(c.code)) break;
    i += c.length;
  }
  return i;
}

bool has_content(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    if (is_content(c.code)) return true;
    i += c.length;
  }
  return false;
}

/// The letters, digits and inner periods before byte `end`; empty if a letter outside ASCII
/// touches them, because no abbreviation below has one.
std::string_view word_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && (is_ascii_letter(text[begin - 1]) || is_digit(text[begin - 1]) ||
                       text[begin - 1] == '.')) {
    --begin;
  }
  size_t before = begin;
  while (before > 0 && (static_cast<unsigned char>(text[before - 1]) & 0xC0) == 0x80) --before;
  if (before > 0 && before < begin && is_content(character_at(text, before - 1).code)) return {};
  return text.substr(begin, end - begin);
}

bool starts_line(std::string_view text, size_t i) {
  while (i > 0 && std::string_view(" \t*_#>(-").find(text[i - 1]) != std::string_view::npos) --i;
  return i == 0 || text[i - 1] == '\n';
}

std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Lower case unless a capital belongs to the abbreviation.
constexpr std::string_view kBeforeName =
    " dr mr mrs ms mx prof messrs vs viz cf approx ca esp incl ";
constexpr std::string_view kTitles =
    " Gen Sen Rep Gov Capt Col Lt Sgt Cpl Rev Hon Mme Mlle Ft Mt Pres Supt ";
constexpr std::string_view kBeforeNumber =
    " nos fig figs eq p pp vol ch sec art ext tel est jan feb mar apr jun jul aug sep sept "
    "oct nov dec ";
constexpr std::string_view kMayEnd = " etc a.m p.m inc ltd co corp jr sr ave blvd rd al dept ph.d ";
constexpr std::string_view kAfterTime =
    " Monday Tuesday Wednesday Thursday Friday Saturday Sunday Eastern Pacific Central "
    "Mountain ET EST EDT PT PST PDT CT CST CDT MT MST MDT GMT UTC BST CET ";
constexpr std::string_view kSentenceStarters =
    " A After All Also An And Are As At Before But By Can Could Did Do Does For He Her Here "
    "His How However I If In Is It Its Let Many May Most My No Not On Or Our Please She "
    "Should So Some That The Their Then There These They This Those To We What When Where "
    "Which While Who Why Will With Would Sorry Sure Thank Thanks Unfortunately Anything Have "
    "Has Now Okay Yes You Your ";

/// e.g. U.S, e.g, J.K: single letters with periods between.
bool is_dotted(std::string_view word) {
  if (word.size() < 3 || word.size() % 2 == 0) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (i % 2 == 0 ? !is_ascii_letter(word[i]) : word[i] != '.') return false;
  }
  return true;
}

/// "Kalpana I. Rao" against "So am I."
bool follows_name(std::string_view text, size_t word_begin) {
  if (word_begin < 2 || text[word_begin - 1] != ' ') return false;
  const size_t space = text.find_last_of(" \n", word_begin - 2);
  return is_upper(text[space == std::string_view::npos ? 0 : space + 1]) &&
         space != std::string_view::npos;
}

/// "168 Hamilton St.": a number shortly before makes it a street, otherwise it is a saint.
bool is_street(std::string_view text, size_t word_begin) {
  for (int words = 0; words < 3 && word_begin > 0; ++words) {
    const size_t end = text.find_last_not_of(" \t\n", word_begin - 1);
    if (end == std::string_view::npos) return false;
    const size_t space = text.find_last_of(" \t\n", end);
    word_begin = space == std::string_view::npos ? 0 : space + 1;
    if (is_digit(text[word_begin])) return true;
  }
  return false;
}

/// After an abbreviation that may end a sentence: does the word at `next` begin a new one?
Verdict judge_next_word(Text text, size_t next, std::string_view abbreviation) {
  const char first = text.bytes[next];
  if (!is_ascii_letter(first)) {
    const char32_t code = character_at(text.bytes, next).code;
    return is_lower(code) || is_digit(first) || first == '(' ? Verdict::kContinue : Verdict::kEnd;
  }
  if (is_lower(first)) return Verdict::kContinue;
  const std::string known = lower(abbreviation);
  const bool time = known == "a.m" || known == "p.m";
  const bool may_end = is_one_of(known, kMayEnd) || known == "st";
  if (may_end && !time) return Verdict::kEnd;
  size_t end = next;
  while (end < text.size() && is_ascii_letter(text.bytes[end])) ++end;
  if (end == text.size() && !text.complete) return Verdict::kWait;
  const std::string_view word = text.bytes.substr(next, end - next);
  if (time) return is_one_of(word, kAfterTime) ? Verdict::kContinue : Verdict::kEnd;
  // U.S., J. K.: many names go on with a capital, so only a word that names nothing ends it.
  const bool initial = word.size() == 1 && end < text.size() && text.bytes[end] == '.';
  return !initial && is_one_of(word, kSentenceStarters) ? Verdict::kEnd : Verdict::kContinue;
}

/// One period at run.begin with a space after it; the next word, if any yet, is at `next`.
Verdict judge_period(Text text, const Run& run, size_t next) {
  const std::string_view word = word_before(text.bytes, run.begin);
  if (word.empty()) return Verdict::kEnd;
  const size_t word_begin = run.begin - word.size();
  const bool number = std::ranges::all_of(word, [](char c) { return is_digit(c) || c == '.'; });
  if ((number && word.size() <= 5) || (word.size() == 1 && is_ascii_letter(word[0]))) {
    if (starts_line(text.bytes, word_begin)) return Verdict::kContinue;  // "1. " of a list
  }
  if (number || (word == "I" && !follows_name(text.bytes, word_begin))) return Verdict::kEnd;

  const std::string word_lower = lower(word);
  const bool street = word == "St" && is_street(text.bytes, word_begin);
  if (is_one_of(word_lower, kBeforeName) || is_one_of(word, kTitles)) return Verdict::kContinue;
  if (word == "St" && !street) return Verdict::kContinue;
  if (word_lower == "no" || is_one_of(word_lower, kBeforeNumber)) {
    if (next == text.size()) return text.at_end_of_text();
    const char first = text.bytes[next];
    const bool goes_on = is_digit(first) || (word_lower != "no" && is_lower(first));
    return goes_on ? Verdict::kContinue : Verdict::kEnd;
  }
  const bool may_end = street || is_one_of(word_lower, kMayEnd);
  const bool dotted = is_dotted(word) || (word.size() == 1 && is_upper(word[0]));
  if (!may_end && !dotted) return Verdict::kEnd;
  if (!may_end && word == word_lower) return Verdict::kContinue;  // e.g. i.e. a.k.a.
  return next == text.size() ? text.at_end_of_text() : judge_next_word(text, next, word);
}

/// The full-width period in a full-width number.
bool is_wide_decimal(std::string_view text, const Run& run, char32_t following) {
  const auto is_wide_digit = [](char32_t code) { return code >= 0xFF10 && code <= 0xFF19; };
  return run.end - run.begin == 3 && character_at(text, run.begin).code == 0xFF0E &&
         run.begin >= 3 && is_wide_digit(character_at(text, run.begin - 3).code) &&
         is_wide_digit(following);
}

Verdict judge_run(Text text, size_t begin, const Run& run) {
  if (!has_content(text.bytes.substr(begin, run.begin - begin))) return Verdict::kContinue;
  if (run.end == text.size()) return text.at_end_of_text();
  const char32_t following = character_at(text.bytes, run.end).code;
  if (run.closed && goes_on_after_quote(following)) return Verdict::kContinue;
  if (run.full_stop) {
    const bool decimal = is_wide_decimal(text.bytes, run, following);
    return decimal ? Verdict::kContinue : Verdict::kEnd;
  }
  const bool single_period = run.periods == 1 && !run.question;
  if (!is_space(following)) {  // 3.5, example.com, /?q=1, p.m., etc.), "Stop!", he said
    const bool ellipsis = run.periods > 1 && !run.question && !run.closed;
    if (ellipsis && is_letter_or_digit(following)) return Verdict::kContinue;
    if (needs_no_space(following)) return Verdict::kEnd;
    return is_upper(following) && !single_period ? Verdict::kEnd : Verdict::kContinue;
  }
  const size_t next = skip_space(text.bytes, run.end);
  if (single_period && !run.closed) return judge_period(text, run, next);
  if (run.question && !run.closed) return Verdict::kEnd;
  // Ellipses and closed quotes: the sentence goes on in lower case.
  if (next == text.size()) return text.at_end_of_text();
  return is_lower(character_at(text.bytes, next).code) ? Verdict::kContinue : Verdict::kEnd;
}

/// A line break ends a sentence without a mark before a blank line, a list item, a heading, a
/// table's row or fenced code.
Verdict judge_line_break(Text text, size_t begin, size_t i) {
  const size_t word = std::min(text.bytes.find_first_not_of(" \t\r", i + 1), text.size());
  const Fence fence = fence_at(text.bytes, word, text.complete);
  if (fence.length > 0) return fence.known ? Verdict::kEnd : Verdict::kWait;
  if (!has_content(text.bytes.substr(begin, i - begin))) return Verdict::kContinue;
  size_t next = text.bytes.find_first_not_of(" \t\r", i + 1);
  if (next == std::string_view::npos) return text.at_end_of_text();
  if (text.bytes[next] == '\n' || text.bytes[next] == '|') return Verdict::kEnd;
  if (character_at(text.bytes, next).code == 0x2022) return Verdict::kEnd;  // bullet
  const size_t first = next;
  while (next < text.size() && is_digit(text.bytes[next])) ++next;
  const bool numbered = next > first && next - first <= 3;
  if (!numbered && next == first) {
    next = std::min(text.bytes.find_first_not_of("-*+#>", first), text.size());
  } else if (numbered && next < text.size() &&
             (text.bytes[next] == '.' || text.bytes[next] == ')')) {
    ++next;
  } else if (next < text.size()) {
    return Verdict::kContinue;
  }
  if (next == text.size()) return text.complete ? Verdict::kContinue : Verdict::kWait;
  return next > first && text.bytes[next] == ' ' ? Verdict::kEnd : Verdict::kContinue;
}

}  // namespace

std::optional<size_t> find_sentence_end(std::string_view text, bool complete) {
  const Text whole{text, complete};
  const size_t begin = skip_space(text, 0);
  const Fence fence = fence_at(text, begin, complete);
  if (!fence.known) return std::nullopt;
  if (fence.length > 0) return end_of_fenced_code(text, begin, fence.length, complete);
  for (size_t i = begin; i < text.size();) {
    const Character c = character_at(text, i);
    const bool line_break = c.code == '\n';
    size_t end = i + c.length;
    if (line_break || mark_of(c.code) != Mark::kNone) {
      const Run run = line_break ? Run{} : run_at(text, i);
      if (!line_break) end = run.end;
      const Verdict verdict =
          line_break ? judge_line_break(whole, begin, i) : judge_run(whole, begin, run);
      if (verdict == Verdict::kWait) return std::nullopt;
      if (verdict == Verdict::kEnd) {
        return line_break ? text.find_last_not_of(" \t\r\n", i) + 1 : end;
      }
    }
    i = end;
  }
  if (!complete || begin == text.size()) return std::nullopt;
  return text.find_last_not_of(" \t\r\n\f\v") + 1;
}

}  // namespace predgen
