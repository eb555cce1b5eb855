#include "text/spoken/speech_text.h"

#include <utf8proc.h>

#include "text/characters.h"
#include "text/spoken/markdown_text.h"
#include "text/spoken/spoken_words.h"
#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

/// Pictures and their colour modifiers. Signs that are read aloud, such as the degree sign, stay.
bool is_unread(char32_t code) {
  const bool beyond = code >= 0x1F000 && !is_letter_or_digit(code);
  return beyond || (code >= 0x2600 && code <= 0x27BF) || (code >= 0x2300 && code <= 0x23FF) ||
         (code >= 0x25A0 && code <= 0x25FF) || (code >= 0x2B00 && code <= 0x2BFF) ||
         code == 0x2122 || code == 0xAE || code == 0x2139 || code == 0x3030 || code == 0x303D ||
         code == 0x3297 || code == 0x3299;
}

/// Joins emoji or selects a form of a character.
bool is_variation(char32_t code) {
  return (code >= 0xFE00 && code <= 0xFE0F) || code == 0x20E3 ||
         (code >= 0xE0000 && code <= 0xE01EF);
}

/// Well-formed text without pictures and zero-width marks; control characters except line breaks
/// become spaces. Arabic and Indic letters keep their joiners and non-joiners.
std::string readable_characters(std::string_view text) {
  std::string result;
  char32_t before = 0;
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.code));
    const bool joins =
        (c.code == 0x200C || c.code == 0x200D) && before >= 0x0600 && before < 0x1000;
    const bool dropped = is_variation(c.code) || category == UTF8PROC_CATEGORY_CO ||
                         category == UTF8PROC_CATEGORY_CF || c.code == 0xFFFD;
    if (!dropped && (is_unread(c.code) || (category == UTF8PROC_CATEGORY_CC && c.code != '\n'))) {
      result += ' ';
    } else if (!dropped || joins) {
      result.append(text, i, c.length);
    }
    before = c.code;
    i += c.length;
  }
  return result;
}

bool has_word(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    if (is_letter_or_digit(c.code)) return true;
    i += c.length;
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

}  // namespace predgen
