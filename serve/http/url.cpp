#include "serve/http/url.h"

#include <charconv>

namespace predgen::serve {

std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    int value = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    plain += is_code ? static_cast<char>(value) : text[i];
    if (is_code) i += 2;
  }
  return plain;
}

std::string plain_path(std::string_view path) {
  std::string plain;
  for (const char c : percent_decoded(path)) {
    if (c != '/' || !plain.ends_with('/')) plain += c;
  }
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

}  // namespace predgen::serve
