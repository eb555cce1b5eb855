#pragma once

#include <algorithm>
#include <string_view>

namespace predgen {

/// The length of the text's end that may be the beginning of `mark`, but is not all of it.
inline size_t begun(std::string_view text, std::string_view mark) {
  size_t size = std::min(mark.size() - 1, text.size());
  while (!text.ends_with(mark.substr(0, size))) --size;
  return size;
}

/// Whether `text` begins with `mark`, or may once more text arrives.
inline bool may_begin(std::string_view text, std::string_view mark) {
  return text.starts_with(mark) || mark.starts_with(text);
}

}  // namespace predgen
