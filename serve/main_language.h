#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace predgen::serve {

/// "en" of "en-US".
inline std::string main_language(std::string code) {
  std::ranges::transform(code, code.begin(), [](unsigned char c) { return std::tolower(c); });
  return code.substr(0, code.find_first_of("-_"));
}

/// Whether a recogniser of the language `heard` hears what is in `asked`; empty: not known.
inline bool is_heard(const std::string& asked, const std::string& heard) {
  return asked.empty() || heard.empty() || main_language(asked) == main_language(heard);
}

}  // namespace predgen::serve
