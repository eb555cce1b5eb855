#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8

#include <pcre2.h>

#include <array>
#include <string_view>

#include "core/error.h"
#include "text/unicode_gaps.h"

namespace predgen {
namespace {

/// Unicode's White_Space; PCRE2's \s also matches U+180E.
constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Escapes that PCRE2 reads differently, or as other Unicode properties than those above.
constexpr std::string_view kForeign = "bBCDEGhHKNQRwWX";

class Translation {
 public:
  Translation(const std::string& pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) step();
    return result_;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw UserError("{}: {} is not supported in the pattern {}", where_, what, pattern_);
  }
  bool rest_starts_with(std::string_view text) const {
    return std::string_view(pattern_).substr(at_).starts_with(text);
  }

  void step() {
    const char c = pattern_[at_];
    if (c == '\\' && at_ + 1 < pattern_.size()) return escape();
    if (!in_class_ && (c == '^' || c == '$')) refuse("an anchor");
    if (c == '[' && in_class_) refuse("[ inside []");
    if (rest_starts_with("&&") && in_class_) refuse("&& inside []");
    if (!in_class_ && rest_starts_with("(?")) check_options();
    // In Oniguruma {1,3}+ repeats the repetition; in PCRE2 it is possessive.
    if (!in_class_ && c == '}' && rest_starts_with("}+")) refuse("}+");
    if (c == '[') in_class_ = true;
    if (c == ']') in_class_ = false;
    result_ += c;
    ++at_;
  }

  /// (?m) lets a dot match line ends in Oniguruma but affects ^ and $ in PCRE2.
  void check_options() const {
    for (size_t index = at_ + 2; index < pattern_.size(); ++index) {
      const char c = pattern_[index];
      if (c == 'm') refuse("(?m)");
      if (c != '-' && (c < 'a' || c > 'z')) break;
    }
  }

  void escape() {
    const char name = pattern_[at_ + 1];
    if (name == 's' || name == 'S') return add_class(name == 'S', kWhiteSpace);
    if (name == 'd') return add_class(false, property("Nd"));
    if (name == 'p' || name == 'P') return add_property(name == 'P');
    if (kForeign.find(name) != std::string_view::npos) refuse(fmt::format("\\{}", name));
    result_ += pattern_.substr(at_, 2);
    at_ += 2;
  }

  void add_property(bool negated) {
    const size_t close = pattern_.find('}', at_);
    if (close == std::string::npos || pattern_[at_ + 2] != '{') refuse("\\p without {}");
    const std::string name = pattern_.substr(at_ + 3, close - at_ - 3);
    if (name.starts_with('^')) refuse("\\p{^");
    at_ = close - 1;  // add_class() continues two characters later
    add_class(negated, property(name));
  }

  static std::string property(const std::string& name) {
    std::string ranges = fmt::format("\\p{{{}}}", name);
    if (name == "L") ranges += kNewerLetters;
    if (name == "Lu") ranges += kNewerUpperLetters;
    if (name == "Ll") ranges += kNewerLowerLetters;
    if (name == "Lm") ranges += kNewerModifierLetters;
    if (name == "Lo") ranges += kNewerOtherLetters;
    if (name == "M") ranges += kNewerMarks;
    if (name == "N") ranges += kNewerNumbers;
    if (name == "Nd") ranges += kNewerDigits;
    return ranges;
  }

  /// Adds `ranges`, the inside of a class, and skips the escape.
  void add_class(bool negated, std::string_view ranges) {
    if (in_class_ && negated) refuse("\\S or \\P inside []");
    if (in_class_) {
      result_ += ranges;
    } else {
      result_ += fmt::format("[{}{}]", negated ? "^" : "", ranges);
    }
    at_ += 2;
  }

  const std::string& pattern_;
  const std::string& where_;
  std::string result_;
  size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

std::string pcre2_syntax(const std::string& pattern, const std::string& where) {
  return Translation(pattern, where).run();
}

namespace {

std::string error_text(int error) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(error, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

/// Room for the bounds of the whole match; groups are not needed. One per thread.
pcre2_match_data* match_data() {
  thread_local const std::unique_ptr<pcre2_match_data, FreeMatch> data(
      pcre2_match_data_create(1, nullptr));
  return data.get();
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool has_jit = false;
  std::string pattern, where;  // for errors
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(const std::string& pattern, Syntax syntax, const std::string& where)
    : code_(std::make_unique<Code>()) {
  const std::string source = syntax == Syntax::kPattern ? pcre2_syntax(pattern, where) : pattern;
  const bool searches = syntax == Syntax::kPattern || syntax == Syntax::kPython;
  const uint32_t options = searches                     ? PCRE2_UTF | PCRE2_UCP
                           : syntax == Syntax::kLiteral ? PCRE2_UTF | PCRE2_LITERAL
                                                        : PCRE2_ANCHORED | PCRE2_ENDANCHORED;
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), options,
                              &error, &offset, nullptr);
  if (!code_->code) {
    throw UserError("{}: bad pattern {}: {}", where, pattern, error_text(error));
  }
  uint32_t matches_empty = 0;
  pcre2_pattern_info(code_->code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty && syntax != Syntax::kWholeName) {
    throw UserError("{}: the pattern \"{}\" matches the empty text, which is not supported", where,
                    pattern);
  }
  code_->pattern = pattern;
  code_->where = where;
  // Without JIT support the interpreter runs the same pattern.
  code_->has_jit = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::find(std::string_view text, size_t start, Match& match) const {
  if (start >= text.size()) return false;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  pcre2_match_data* const data = match_data();
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_->has_jit) {
    result = pcre2_jit_match(code_->code, subject, text.size(), start, 0, data, nullptr);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter's stack grows on the heap
    result = pcre2_match(code_->code, subject, text.size(), start,
                         PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, nullptr);
  }
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    throw UserError("{}: the pattern {} fails on this text: {}", code_->where, code_->pattern,
                    error_text(result));
  }
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
  match = {bounds[0], bounds[1]};
  return true;
}

std::string Regex::replace_all(std::string_view text, std::string_view content) const {
  std::string result;
  size_t end = 0;
  Match match;
  while (find(text, end, match)) {
    result.append(text, end, match.begin - end).append(content);
    end = match.end;
  }
  return result.append(text, end);
}

}  // namespace predgen
