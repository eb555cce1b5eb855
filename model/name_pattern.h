#pragma once

#include <regex>
#include <string>

#include "core/error.h"

namespace predgen {

/// A pattern of Python's re that must match the whole of a module's name. Names are ASCII, and what
/// such patterns use means the same in ECMAScript; named groups and the like are a UserError.
class NamePattern {
 public:
  NamePattern(const std::string& pattern, const char* key, const std::string& where) try
      : regex_(pattern) {
  } catch (const std::regex_error& error) {
    throw UserError("{}: \"{}\": the pattern {} is not supported: {}", where, key, pattern,
                    error.what());
  }

  bool matches(const std::string& name) const { return std::regex_match(name, regex_); }

 private:
  std::regex regex_;
};

}  // namespace predgen
