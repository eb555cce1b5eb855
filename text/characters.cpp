#include "text/characters.h"

#include <utf8proc.h>

namespace predgen {
namespace {

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

}  // namespace

Character character_at(std::string_view text, size_t i) {
  utf8proc_int32_t code = 0;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i,
                                       static_cast<utf8proc_ssize_t>(text.size() - i), &code);
  if (length <= 0) return {0xFFFD, 1};
  return {static_cast<char32_t>(code), static_cast<size_t>(length)};
}

bool is_upper(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LL; }

bool is_letter(char32_t code) {
  const auto c = category(code);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool is_letter_or_digit(char32_t code) {
  const auto c = category(code);
  return is_letter(code) || (c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO);
}

bool is_picture(char32_t code) { return category(code) == UTF8PROC_CATEGORY_SO; }

size_t skip_space(std::string_view text, size_t i) {
  while (i < text.size()) {
    const Character c = character_at(text, i);
    if (!is_space(c.code)) break;
    i += c.length;
  }
  return i;
}

}  // namespace predgen
