#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace predgen {

/// A pattern of tokenizer.json, which is written for Oniguruma, as a pattern for PCRE2 (options
/// UTF, UCP) that matches the same text. \s, \d, \p{L}, \p{M}, \p{N} and \p{Nd} mean what they mean
/// there; other properties follow PCRE2's Unicode version. UserError naming `where` for syntax that
/// the two engines read differently.
std::string pcre2_syntax(const std::string& pattern, const std::string& where);

/// A compiled pattern over UTF-8: in the syntax of tokenizer.json (pcre2_syntax()), a literal, a
/// pattern of Python's re (whose \s also matches U+001C to U+001F: spell those out), or such a
/// pattern that must match a whole ASCII name. Thread-safe.
class Regex {
 public:
  enum class Syntax { kPattern, kLiteral, kPython, kWholeName };
  struct Match {
    size_t begin, end;  // bytes
  };

  /// UserError naming `where` if the pattern cannot be compiled, or matches the empty text without
  /// being for whole names.
  Regex(const std::string& pattern, Syntax syntax, const std::string& where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Finds the first match that begins at `start` or later. `text` is well-formed UTF-8. UserError
  /// if matching exceeds the backtracking limit.
  bool find(std::string_view text, size_t start, Match& match) const;

  /// `text` with every match replaced by `content`.
  std::string replace_all(std::string_view text, std::string_view content) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace predgen
