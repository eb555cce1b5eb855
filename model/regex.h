#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace predgen {

/// A compiled pattern over UTF-8, in the syntax of tokenizer.json (regex_syntax.h), or a literal.
/// Thread-safe.
class Regex {
 public:
  enum class Syntax { kPattern, kLiteral };
  struct Match {
    size_t begin, end;  // bytes
  };

  /// UserError naming `where` if the pattern cannot be compiled or matches the empty text.
  Regex(const std::string& pattern, Syntax syntax, const std::string& where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Finds the first match that begins at `start` or later. `text` is well-formed UTF-8.
  bool find(std::string_view text, size_t start, Match& match) const;

  /// `text` with every match replaced by `content`.
  std::string replace_all(std::string_view text, std::string_view content) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace predgen
