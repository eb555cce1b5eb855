#pragma once

#include <string>
#include <string_view>

#include "core/text.h"

namespace predgen::serve {

/// "en" of "en-US".
inline std::string main_language(std::string_view code) {
  return lower_ascii(code.substr(0, code.find_first_of("-_")));
}

/// Whether a recogniser of the language `heard` hears what is in `asked`; empty: not known.
inline bool is_heard(const std::string& asked, const std::string& heard) {
  return asked.empty() || heard.empty() || main_language(asked) == main_language(heard);
}

}  // namespace predgen::serve
