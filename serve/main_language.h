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

}  // namespace predgen::serve
