#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// A compiled PCRE2 pattern over UTF-8 with Unicode character classes: those of the installed
/// PCRE2, so letters newer than its Unicode (14 in version 10.42) count as symbols. Thread-safe.
class Regex {
 public:
  enum class Syntax { kPattern, kLiteral };
  struct Match {
    size_t begin, end;  // bytes
  };

  /// UserError naming `where` if the pattern cannot be compiled.
  Regex(const std::string& pattern, Syntax syntax, const std::string& where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Every match from left to right, empty ones left out. `text` is well-formed UTF-8.
  std::vector<Match> find_all(std::string_view text) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace predgen
