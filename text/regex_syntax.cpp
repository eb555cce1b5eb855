#include "text/regex_syntax.h"

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

}  // namespace predgen
