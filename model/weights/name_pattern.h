#pragma once

#include <string>

#include "core/error.h"
#include "text/regex.h"

namespace predgen {

/// A pattern of Python's re that must match the whole of a module's name. Names are ASCII; the
/// syntax such patterns use means the same in PCRE2.
class NamePattern {
 public:
  NamePattern(const std::string& pattern, const char* key, const std::string& where)
      : regex_(pattern, Regex::Syntax::kWholeName, fmt::format("{}: \"{}\"", where, key)) {}

  /// A key of PEFT's "rank_pattern" or "alpha_pattern": the name, or its end after a dot.
  static NamePattern of_end(const std::string& pattern, const char* key, const std::string& where) {
    return {"(.*\\.)?(" + pattern + ")", key, where};
  }

  bool matches(const std::string& name) const {
    Regex::Match match;
    return regex_.find(name, 0, match);
  }

 private:
  Regex regex_;
};

}  // namespace predgen
