#include "runtime/speech/speech_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "runtime/speech/markdown_text.h"
#include "runtime/speech/spoken_words.h"
#include "runtime/speech/text_rules.h"

namespace predgen {
namespace {

/// Pictures, and what colours or joins them. Signs that are read, such as the degree, stay.
bool is_picture(utf8proc_int32_t code) {
  return code >= 0x1F000 || (code >= 0x2600 && code <= 0x27BF) ||
         (code >= 0x2300 && code <= 0x23FF) || (code >= 0x25A0 && code <= 0x25FF) ||
         (code >= 0x2B00 && code <= 0x2BFF) || code == 0x2122 || code == 0xAE || code == 0x2139 ||
         code == 0x3030 || code == 0x303D || code == 0x3297 || code == 0x3299;
}

bool is_joiner(utf8proc_int32_t code) {  // of emoji; zero-width marks of text
  return code == 0xFE0F || code == 0xFE0E || code == 0x20E3 || code == 0xFEFF ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2060 && code <= 0x2064) || code == 0xAD;
}

bool is_letter_beyond_bmp(utf8proc_int32_t code, utf8proc_category_t category) {
  return code >= 0x10000 && category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

/// Well-formed text without pictures; control characters but line breaks as spaces.
std::string readable_characters(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t code = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i,
                                         static_cast<utf8proc_ssize_t>(text.size() - i), &code);
    if (length <= 0) {
      ++i;
      continue;
    }
    const auto category = utf8proc_category(code);
    const bool picture = is_picture(code) && !is_letter_beyond_bmp(code, category);
    if (picture || (category == UTF8PROC_CATEGORY_CC && code != '\n')) {
      result += ' ';
    } else if (!is_joiner(code) && category != UTF8PROC_CATEGORY_CO && code != 0xFFFD) {
      result.append(text, i, static_cast<size_t>(length));
    }
    i += static_cast<size_t>(length);
  }
  return result;
}

bool has_word(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t code = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i,
                                         static_cast<utf8proc_ssize_t>(text.size() - i), &code);
    const auto category = utf8proc_category(code);
    if ((category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
        (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO)) {
      return true;
    }
    i += static_cast<size_t>(length);
  }
  return false;
}

/// Arrows and bullets as pauses; single spaces, none before a mark or at the ends.
std::string tidy(std::string_view text) {
  static const TextRules rules({
      {R"(\s*([\x{2190}-\x{21ff}\x{2022}\x{27f5}-\x{27ff}]|[-=]+>)\s*)", ", "},
      {R"(\s+)", " "},
      {R"( +(?=[.,!?]( |(?!.))))", ""},
      {R"(,(?=[.,;:!?]))", ""},
      {R"((?<!.) )", ""},
      {R"((?<!.)[,;:]+ ?)", ""},
      {R"( (?!.))", ""},
  });
  return rules.apply(text);
}

}  // namespace

std::string speakable_text(std::string_view sentence, std::string_view language) {
  const std::string plain =
      plain_text(readable_characters(sentence), spoken_symbols(language).code_omitted);
  std::string text = tidy(spoken_words(plain, language));
  return has_word(text) ? text : std::string();
}

int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace predgen
