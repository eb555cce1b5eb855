#include "text/bare_words.h"

#include <utf8proc.h>

#include <cstdlib>
#include <iterator>
#include <sstream>

#include "core/error.h"
#include "text/characters.h"

namespace predgen {
namespace {

bool is_apostrophe(char32_t code) { return code == '\'' || code == 0x2019; }

bool ends_word(char32_t code) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  const bool is_punctuation = category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
  return is_punctuation || is_space(code) || category == UTF8PROC_CATEGORY_CC;
}

}  // namespace

std::string folded(std::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPAT |
                                                  UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
  if (size < 0) throw UserError("not valid UTF-8");
  std::string result(reinterpret_cast<char*>(mapped), static_cast<size_t>(size));
  std::free(mapped);
  return result;
}

std::string bare_words(std::string_view text) {
  const std::string letters = folded(replace_ill_formed_utf8(text));
  std::string words;
  bool is_between = false;
  for (size_t i = 0; i < letters.size();) {
    const Character character = character_at(letters, i);
    if (ends_word(character.code)) {
      is_between = is_between || !is_apostrophe(character.code);
    } else {
      if (is_between && !words.empty()) words += ' ';
      is_between = false;
      words.append(letters, i, character.length);
    }
    i += character.length;
  }
  return words;
}

std::vector<std::string> list_words(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> list_bare_words(std::string_view text) {
  return list_words(bare_words(text));
}

}  // namespace predgen
