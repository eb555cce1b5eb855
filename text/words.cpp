#include "text/words.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "text/utf8.h"

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

bool is_word_alone(char32_t c) {
  return (c >= 0x3000 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFF9F) ||
         (c >= 0x20000 && c <= 0x3FFFF);
}

bool has_no_word_spaces(char32_t c) {
  const bool is_thai_or_lao = c >= 0x0E00 && c <= 0x0EFF && c != 0x0E3F;  // not the baht's sign
  const bool is_burmese =
      (c >= 0x1000 && c <= 0x109F) || (c >= 0xA9E0 && c <= 0xA9FF) || (c >= 0xAA60 && c <= 0xAA7F);
  const bool is_khmer = c >= 0x1780 && c <= 0x17FF;
  return is_word_alone(c) || is_thai_or_lao || is_burmese || is_khmer;
}

std::string joined_words(std::string_view one, std::string_view other) {
  std::string joined(one);
  if (!one.empty() && !other.empty()) {
    const char32_t last = character_at(one, character_before(one, one.size())).code;
    const char32_t first = character_at(other, 0).code;
    if (!has_no_word_spaces(last) || !has_no_word_spaces(first)) joined += ' ';
  }
  return joined.append(other);
}

namespace {

using Words = std::vector<std::string_view>;

/// Sounds that recognisers transcribe in any language.
const Words kSounds{"ah", "aha", "ahem", "eh", "hm", "hmm",   "huh", "mhm",
                    "mm", "mmm", "mmhm", "oh", "uh", "uhhuh", "um"};

/// Words, without case, that signal agreement or "go on". "No" is not among them.
const std::map<std::string_view, Words> kWords{
    {"de", {"ach", "äh", "ähm", "genau", "gut", "ja", "klar", "ok", "okay", "stimmt"}},
    {"en", {"cool", "ok", "okay", "right", "sure", "yeah", "yep", "yes", "yup"}},
    {"es", {"ajá", "bien", "claro", "ok", "okay", "sí", "vale", "ya"}},
    {"fr", {"ah", "bien", "daccord", "euh", "mouais", "ok", "okay", "oui", "ouais"}},
    {"it", {"beh", "bene", "certo", "ok", "okay", "sì", "esatto"}},
    {"ja", {"うん", "うんうん", "ええ", "はい", "そう", "なるほど"}},
    {"nl", {"ja", "juist", "oké", "ok", "okay", "precies", "goed"}},
    {"pl", {"aha", "dobrze", "jasne", "ok", "tak"}},
    {"pt", {"certo", "claro", "é", "ok", "okay", "pois", "sim", "tá"}},
    {"zh", {"嗯", "嗯嗯", "对", "好", "好的", "是", "是的", "哦"}}};

bool is_in(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_word(std::string_view word, std::string_view language) {
  if (is_in(kSounds, word)) return true;
  if (language.empty()) {
    return std::ranges::any_of(kWords, [&](const auto& of) { return is_in(of.second, word); });
  }
  const auto of = kWords.find(language);
  return of != kWords.end() && is_in(of->second, word);
}

}  // namespace

bool is_backchannel(const std::string& words, const std::string& language) {
  // A hyphen does not end a word here: "mm-hm".
  std::string joined = words;
  std::erase(joined, '-');
  return std::ranges::all_of(list_bare_words(joined),
                             [&](const std::string& word) { return is_word(word, language); });
}

}  // namespace predgen
