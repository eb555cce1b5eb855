// Searches whose time no template can make the product of two lengths.
#include <cstring>

#include "text/jinja/python_text.h"

namespace predgen::jinja {

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* const found =
      memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last_text(std::string_view text, std::string_view part) {
  constexpr size_t kShort = 16;
  if (part.size() <= kShort || part.size() > text.size()) return text.rfind(part);
  // Knuth, Morris and Pratt, from the right.
  const auto of_part = [&](size_t i) { return part[part.size() - 1 - i]; };
  std::vector<size_t> prefix(part.size(), 0);
  for (size_t i = 1, length = 0; i < part.size(); ++i) {
    while (length > 0 && of_part(i) != of_part(length)) length = prefix[length - 1];
    if (of_part(i) == of_part(length)) ++length;
    prefix[i] = length;
  }
  for (size_t at = text.size(), length = 0; at-- > 0;) {
    while (length > 0 && text[at] != of_part(length)) length = prefix[length - 1];
    if (text[at] == of_part(length)) ++length;
    if (length == part.size()) return at;
  }
  return std::string_view::npos;
}

}  // namespace predgen::jinja
