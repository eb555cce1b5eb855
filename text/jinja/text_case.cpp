// The case of letters, as str.upper() and its kin change it.
#include <utf8proc.h>

#include <array>
#include <string>
#include <string_view>

#include "text/jinja/case_tables.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

enum class Case { kUpper, kLower, kTitle };

/// The upper or title case of a character whose other case is longer, or nothing.
std::string_view long_case(std::string_view character, Case to) {
  const std::string_view table = long_cases();
  for (size_t at = table.find(character); at != std::string_view::npos;
       at = table.find(character, at + 1)) {
    const size_t end = at + character.size();
    if ((at > 0 && table[at - 1] != '|') || table[end] != ' ') continue;
    const size_t upper_end = table.find(' ', end + 1);
    if (to == Case::kUpper) return table.substr(end + 1, upper_end - end - 1);
    return table.substr(upper_end + 1, table.find('|', upper_end) - upper_end - 1);
  }
  return {};
}

bool is_cased(char32_t code) {
  return is_lower_code(code) || is_upper_code(code) || is_title_code(code);
}

bool is_ignored_by_case(char32_t code) {
  constexpr std::u32string_view kMarks =
      U"'.:^`\u00A8\u00AD\u00AF\u00B4\u00B7\u00B8\u2018\u2019\u2024\u2027";
  if (kMarks.find(code) != std::u32string_view::npos) return true;
  if (code == kHidden) return false;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
         category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
         category == UTF8PROC_CATEGORY_SK;
}

/// Whether the letter that ends at byte `end` is the last of its word.
bool ends_word(std::string_view text, size_t end) {
  while (end < text.size()) {
    const char32_t code = next_code(text, end);
    if (!is_ignored_by_case(code)) return !is_cased(code);
  }
  return true;
}

/// Appends the character of `text` between two bytes in another case.
void append_cased(std::string& result, std::string_view text, size_t begin, size_t end,
                  char32_t code, Case to, bool is_behind_letter) {
  if (code == kHidden) {
    result += text.substr(begin, end - begin);
    return;
  }
  if (code < 0x80) {
    const bool is_small = code >= 'a' && code <= 'z', is_big = code >= 'A' && code <= 'Z';
    const int change = to == Case::kLower ? (is_big ? 32 : 0) : (is_small ? -32 : 0);
    result += static_cast<char>(static_cast<int>(code) + change);
    return;
  }
  if (to == Case::kLower) {
    constexpr char32_t kDottedI = 0x130, kSigma = 0x3A3, kFinalSigma = 0x3C2;
    if (code == kDottedI) {
      result += "i\u0307";
    } else if (code == kSigma && is_behind_letter && ends_word(text, end)) {
      append_code(result, kFinalSigma);
    } else {
      append_code(result,
                  static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
    }
    return;
  }
  const std::string_view longer = long_case(text.substr(begin, end - begin), to);
  const auto number = static_cast<utf8proc_int32_t>(code);
  if (!longer.empty()) {
    result += longer;
  } else {
    append_code(result, static_cast<char32_t>(to == Case::kUpper ? utf8proc_toupper(number)
                                                                 : utf8proc_totitle(number)));
  }
}

/// `choose` is given each character, and says in which case it is to be.
template <typename Choose>
std::string in_case(std::string_view text, const Choose& choose) {
  std::string result;
  result.reserve(text.size());
  bool is_behind_letter = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    append_cased(result, text, begin, at, code, choose(code), is_behind_letter);
    if (!is_ignored_by_case(code)) is_behind_letter = is_cased(code);
  }
  return result;
}

}  // namespace

std::string upper(std::string_view text) {
  return in_case(text, [](char32_t) { return Case::kUpper; });
}

std::string lower(std::string_view text) {
  return in_case(text, [](char32_t) { return Case::kLower; });
}

std::string title(std::string_view text) {
  bool is_in_word = false;
  return in_case(text, [&](char32_t code) {
    const Case to = is_in_word ? Case::kLower : Case::kTitle;
    is_in_word = is_cased(code);
    return to;
  });
}

std::string capitalized(std::string_view text) {
  bool is_first = true;
  return in_case(text, [&](char32_t) {
    const Case to = is_first ? Case::kTitle : Case::kLower;
    is_first = false;
    return to;
  });
}

std::string swapped_case(std::string_view text) {
  return in_case(text,
                 [](char32_t code) { return is_upper_code(code) ? Case::kLower : Case::kUpper; });
}

std::string folded_case(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    if (code == kHidden) {
      result += text.substr(begin, at - begin);
      continue;
    }
    std::array<utf8proc_int32_t, 8> codes{};
    int last = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), codes.data(),
                                               codes.size(), UTF8PROC_CASEFOLD, &last);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      append_code(result, static_cast<char32_t>(codes[static_cast<size_t>(i)]));
    }
  }
  return result;
}

}  // namespace predgen::jinja
