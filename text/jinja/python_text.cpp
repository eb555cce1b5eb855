#include "text/jinja/python_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace predgen::jinja {
namespace {

constexpr char kEscape = '\xFF';

utf8proc_category_t category_of(char32_t code) {
  return code == kHidden ? UTF8PROC_CATEGORY_CN
                         : utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_between(utf8proc_category_t category, utf8proc_category_t first, utf8proc_category_t last) {
  return first <= category && category <= last;
}

}  // namespace

char32_t next_code(std::string_view text, size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) {
    ++at;
    return byte;
  }
  if (text[at] == kEscape) {
    at = std::min(at + 2, text.size());
    return kHidden;
  }
  utf8proc_int32_t code = 0;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  at += length <= 0 ? 1 : static_cast<size_t>(length);
  return length <= 0 ? kHidden : static_cast<char32_t>(code);
}

void append_code(std::string& text, char32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(length));
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) next_code(text, at);
  return count;
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    next_code(text, at);
    result.push_back(text.substr(begin, at - begin));
  }
  return result;
}

size_t byte_of(const Text& text, size_t index) {
  if (text.is_ascii || index == 0) return std::min(index, text.text.size());
  if (index >= text.num_characters) return text.text.size();
  size_t at = 0;
  for (size_t i = 0; i < index; ++i) next_code(text.text, at);
  return at;
}

size_t character_of(const Text& text, size_t byte) {
  return text.is_ascii ? byte : count_characters(std::string_view(text.text).substr(0, byte));
}

bool is_alphabetic(char32_t code) {
  return is_between(category_of(code), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool is_decimal(char32_t code) { return category_of(code) == UTF8PROC_CATEGORY_ND; }
bool is_digit_code(char32_t code) { return is_decimal(code) || is_digit_beyond_decimals(code); }

bool is_numeric(char32_t code) {
  return is_between(category_of(code), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO) ||
         is_numeric_letter(code);
}

bool is_lower_code(char32_t code) {
  return category_of(code) == UTF8PROC_CATEGORY_LL || is_lower_beyond_letters(code);
}

bool is_upper_code(char32_t code) {
  return category_of(code) == UTF8PROC_CATEGORY_LU || is_upper_beyond_letters(code);
}

bool is_title_code(char32_t code) { return category_of(code) == UTF8PROC_CATEGORY_LT; }

bool is_space_code(char32_t code) {
  if (code < 0x80)
    return code == ' ' || (code >= '\t' && code <= '\r') || (code >= 0x1C && code <= 0x1F);
  if (code == kHidden) return false;
  const auto& property = *utf8proc_get_property(static_cast<utf8proc_int32_t>(code));
  return property.category == UTF8PROC_CATEGORY_ZS ||
         property.bidi_class == UTF8PROC_BIDI_CLASS_WS ||
         property.bidi_class == UTF8PROC_BIDI_CLASS_B ||
         property.bidi_class == UTF8PROC_BIDI_CLASS_S;
}

bool is_printable(char32_t code) {
  const utf8proc_category_t category = category_of(code);
  return code == ' ' || code == kHidden ||
         (category != UTF8PROC_CATEGORY_CN &&
          !is_between(category, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_CO));
}

bool is_word(char32_t code) { return code == '_' || is_alphabetic(code) || is_numeric(code); }

namespace {

size_t strip_left(std::string_view text, const auto& is_stripped) {
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at;
    if (!is_stripped(text, next)) break;
    at = next;
  }
  return at;
}

size_t last_begin(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && text.size() - at < 4 && (text[at] & 0xC0) == 0x80) --at;
  if (text.size() >= 2 && text[text.size() - 2] == kEscape) return text.size() - 2;
  size_t end = at;
  next_code(text, end);
  return end == text.size() ? at : text.size() - 1;
}

}  // namespace

std::string_view stripped(std::string_view text, std::optional<std::string_view> chars, bool left,
                          bool right) {
  const std::vector<std::string_view> set =
      chars ? characters_of(*chars) : std::vector<std::string_view>{};
  const auto is_stripped = [&](std::string_view from, size_t& at) {
    const size_t begin = at;
    const char32_t code = next_code(from, at);
    if (!chars) return is_space_code(code);
    return std::find(set.begin(), set.end(), from.substr(begin, at - begin)) != set.end();
  };
  if (left) text.remove_prefix(strip_left(text, is_stripped));
  while (right && !text.empty()) {
    size_t at = last_begin(text);
    const size_t begin = at;
    if (!is_stripped(text, at)) break;
    text = text.substr(0, begin);
  }
  return text;
}

namespace {

std::vector<std::string_view> split_at_space(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  while (true) {
    text = stripped(text, std::nullopt, !from_right, from_right);
    if (text.empty()) break;
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text);
      break;
    }
    size_t cut = from_right ? text.size() : 0;
    while (from_right ? cut > 0 : cut < text.size()) {
      const size_t begin = from_right ? last_begin(text.substr(0, cut)) : cut;
      size_t end = begin;
      if (is_space_code(next_code(text, end))) break;
      cut = from_right ? begin : end;
    }
    parts.push_back(from_right ? text.substr(cut) : text.substr(0, cut));
    text = from_right ? text.substr(0, cut) : text.substr(cut);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::vector<std::string_view> split(Budget& budget, std::string_view text,
                                    std::optional<std::string_view> separator, int64_t most,
                                    bool from_right) {
  budget.read(text.size());
  if (!separator) return split_at_space(text, most, from_right);
  if (separator->empty()) throw Failure("split: the separator is empty");
  std::vector<std::string_view> parts;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    budget.step();
    if (from_right && separator->size() > 1) budget.read(text.size());
    const size_t at =
        from_right ? find_last_text(text, *separator) : find_text(text, *separator, 0);
    if (at == std::string_view::npos) break;
    const std::string_view behind = text.substr(at + separator->size());
    parts.push_back(from_right ? behind : text.substr(0, at));
    text = from_right ? text.substr(0, at) : behind;
  }
  parts.push_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keeps_ends) {
  const auto ends_line = [](char32_t code) {
    return (code >= '\n' && code <= '\r') || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
           code == 0x2028 || code == 0x2029;
  };
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t code = next_code(text, at);
    if (!ends_line(code)) continue;
    if (code == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, (keeps_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view by, int64_t most) {
  std::string result;
  const auto add = [&](std::string_view more) { budget.append(result, more); };
  budget.read(text.size());
  size_t at = 0;
  for (int64_t count = 0; most < 0 || count < most; ++count) {
    const size_t found = find_text(text, old, at);
    if (found == std::string_view::npos) break;
    budget.step();
    size_t end = found + old.size();
    add(text.substr(at, found - at));
    add(by);
    if (old.empty()) {  // between all characters, and at both ends
      if (found == text.size()) return result;
      next_code(text, end);
      add(text.substr(found, end - found));
    }
    at = end;
  }
  add(text.substr(at));
  return result;
}

// Searches whose time no template can make the product of two lengths.

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
