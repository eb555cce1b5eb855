#include "text/utf8.h"

#include <utf8proc.h>

#include <cstdint>

#include "core/error.h"
#include "core/text.h"

namespace predgen {
namespace {

enum class Piece { kCharacter, kIllFormed, kUnfinished };

struct Decoded {
  Piece piece;
  size_t length;  // bytes, at least 1
};

/// The first character of `text`, or the longest prefix of one (Unicode, table 3-7).
Decoded decode_first(std::string_view text) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {Piece::kCharacter, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Piece::kIllFormed, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint8_t lowest = 0x80, highest = 0xBF;  // of the second byte: no overlong forms, no surrogates
  if (lead == 0xE0) lowest = 0xA0;
  if (lead == 0xED) highest = 0x9F;
  if (lead == 0xF0) lowest = 0x90;
  if (lead == 0xF4) highest = 0x8F;
  for (size_t index = 1; index < length; ++index) {
    if (index == text.size()) return {Piece::kUnfinished, index};
    if (byte(index) < lowest || byte(index) > highest) return {Piece::kIllFormed, index};
    lowest = 0x80;
    highest = 0xBF;
  }
  return {Piece::kCharacter, length};
}

}  // namespace

size_t first_ill_formed(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const Decoded first = decode_first(text.substr(offset));
    if (first.piece != Piece::kCharacter) break;
    offset += first.length;
  }
  return offset;
}

void require_utf8(std::string_view text, std::string_view what) {
  const size_t offset = first_ill_formed(text);
  if (offset < text.size()) throw UserError("{}: ill-formed UTF-8 at byte {}", what, offset);
}

char32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[at + index]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t character = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (size_t index = 1; index < length; ++index) {
    character = character << 6 | (byte(index) & 0x3Fu);
  }
  at += length;
  return character;
}

size_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && !begins_character(text[at])) --at;
  return at;
}

bool is_white_space(char32_t character) {
  return (character >= 0x9 && character <= 0xD) || character == 0x20 || character == 0x85 ||
         character == 0xA0 || character == 0x1680 || (character >= 0x2000 && character <= 0x200A) ||
         character == 0x2028 || character == 0x2029 || character == 0x202F || character == 0x205F ||
         character == 0x3000;
}

size_t complete_utf8_length(std::string_view text) {
  // An incomplete character is at most three bytes long.
  for (size_t length = 1; length <= 3 && length <= text.size(); ++length) {
    const size_t start = text.size() - length;
    if (!begins_character(text[start])) continue;  // look further back
    const Decoded last = decode_first(text.substr(start));
    if (last.piece == Piece::kUnfinished && last.length == length) return start;
    break;
  }
  return text.size();
}

std::string replace_ill_formed_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Decoded first = decode_first(text);
    if (first.piece == Piece::kCharacter) {
      result += text.substr(0, first.length);
    } else {
      result += "\xEF\xBF\xBD";
    }
    text.remove_prefix(first.length);
  }
  return result;
}

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
