#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace predgen {

/// A pattern of Regex::Syntax::kPattern for this folder's texts.
Regex speech_pattern(std::string_view source);

/// Patterns (in the syntax of Regex::Syntax::kPattern: no anchors, no groups kept) and the
/// replacement of each match, applied one after the other.
class TextRules {
 public:
  struct Rule {
    const char* pattern;
    const char* replacement;
  };
  TextRules(std::initializer_list<Rule> rules);

  std::string apply(std::string_view text) const;

 private:
  struct Compiled {
    Regex regex;
    std::string replacement;
  };
  std::vector<Compiled> rules_;
};

/// `text` with every match replaced by what `replace(match, bytes after it)` returns.
std::string replace_each(
    const Regex& regex, std::string_view text,
    const std::function<std::string(std::string_view match, std::string_view rest)>& replace);

/// Whether `pattern` matches in the first or last `bytes` of a well-formed `text`, cut between
/// characters. "(?<!.)" and "(?!.)" then mean the ends of that part: a search that costs the same
/// wherever it is made.
bool begins_with(std::string_view text, size_t bytes, const Regex& pattern);
bool ends_with(std::string_view text, size_t bytes, const Regex& pattern);

}  // namespace predgen
