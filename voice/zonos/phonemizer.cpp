#include "voice/zonos/phonemizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "text/utf8.h"
#include "voice/zonos/number_words.h"

namespace predgen {

const std::vector<std::string>& zonos_languages() {
  // In order of their ids.
  static constexpr std::string_view kCodes =
      "af am an ar as az ba bg bn bpy bs ca cmn cs cy da de el en-029 en-gb en-gb-scotland "
      "en-gb-x-gbclan en-gb-x-gbcwmd en-gb-x-rp en-us eo es es-419 et eu fa fa-latn fi fr-be "
      "fr-ch fr-fr ga gd gn grc gu hak hi hr ht hu hy hyw ia id is it ja jbo ka kk kl kn ko kok "
      "ku ky la lfn lt lv mi mk ml mr ms mt my nb nci ne nl om or pa pap pl pt pt-br py quc ro ru "
      "ru-lv sd shn si sk sl sq sr sv sw ta te tn tr tt ur uz vi vi-vn-x-central vi-vn-x-south "
      "yue";
  static const std::vector<std::string> languages = [] {
    std::istringstream codes(std::string{kCodes});
    using Code = std::istream_iterator<std::string>;
    return std::vector<std::string>(Code(codes), Code());
  }();
  return languages;
}

namespace {

std::string suggest_language(const std::string& asked) {
  const std::string given = lower_ascii(asked);
  std::vector<std::string> variants;  // of "en"
  std::ranges::copy_if(zonos_languages(), std::back_inserter(variants),
                       [&](const std::string& code) { return code.starts_with(given + "-"); });
  if (given.empty() || variants.empty()) return suggest(given, zonos_languages());
  return fmt::format("say which one, {}", fmt::join(variants, ", "));
}

}  // namespace

int64_t language_id(const std::string& language) {
  const auto& known = zonos_languages();
  const auto found = std::ranges::find(known, language);
  if (found == known.end()) {
    throw UserError("Zonos has no language \"{}\": {}", language, suggest_language(language));
  }
  return found - known.begin();
}

namespace {

// In order of their ids, from 4 on: the marks, A to Z, a to z, the letters of the International
// Phonetic Alphabet.
constexpr char32_t kPhonemeMarks[] = {U';',   U':',   U',', U'.', U'!', U'?',   0xA1,   0xBF,
                                      0x2014, 0x2026, U'"', 0xAB, 0xBB, 0x201C, 0x201D, U'(',
                                      U')',   U' ',   U'*', U'~', U'-', U'/',   U'\\',  U'&'};
constexpr char32_t kLetters[] = {
    0x0251, 0x0250, 0x0252, 0x00E6, 0x0253, 0x0299, 0x03B2, 0x0254, 0x0255, 0x00E7, 0x0257,
    0x0256, 0x00F0, 0x02A4, 0x0259, 0x0258, 0x025A, 0x025B, 0x025C, 0x025D, 0x025E, 0x025F,
    0x0284, 0x0261, 0x0260, 0x0262, 0x029B, 0x0266, 0x0267, 0x0127, 0x0265, 0x029C, 0x0268,
    0x026A, 0x029D, 0x026D, 0x026C, 0x026B, 0x026E, 0x029F, 0x0271, 0x026F, 0x0270, 0x014B,
    0x0273, 0x0272, 0x0274, 0x00F8, 0x0275, 0x0278, 0x03B8, 0x0153, 0x0276, 0x0298, 0x0279,
    0x027A, 0x027E, 0x027B, 0x0280, 0x0281, 0x027D, 0x0282, 0x0283, 0x0288, 0x02A7, 0x0289,
    0x028A, 0x028B, 0x2C71, 0x028C, 0x0263, 0x0264, 0x028D, 0x03C7, 0x028E, 0x028F, 0x0291,
    0x0290, 0x0292, 0x0294, 0x02A1, 0x0295, 0x02A2, 0x01C0, 0x01C1, 0x01C2, 0x01C3, 0x02C8,
    0x02CC, 0x02D0, 0x02D1, 0x02BC, 0x02B4, 0x02B0, 0x02B1, 0x02B2, 0x02B7, 0x02E0, 0x02E4,
    0x02DE, 0x2193, 0x2191, 0x2192, 0x2197, 0x2198, 0x0027, 0x0329, 0x0027, 0x1D7B};
static_assert(std::size(kPhonemeMarks) == 24 &&
              4 + 24 + 52 + std::size(kLetters) == ZonosSymbols::kCount);

std::map<char32_t, int64_t> number_symbols() {
  std::map<char32_t, int64_t> ids;
  int64_t next = 4;
  for (const char32_t mark : kPhonemeMarks) ids[mark] = next++;
  for (char32_t letter = U'A'; letter <= U'Z'; ++letter) ids[letter] = next++;
  for (char32_t letter = U'a'; letter <= U'z'; ++letter) ids[letter] = next++;
  // The apostrophe occurs twice, and the model was trained with its later id.
  for (const char32_t letter : kLetters) ids[letter] = next++;
  return ids;
}

}  // namespace

int64_t ZonosSymbols::id(char32_t character) {
  static const auto ids = number_symbols();
  const auto found = ids.find(character);
  return found == ids.end() ? kUnknown : found->second;
}

bool ZonosSymbols::is_mark(char32_t character) {
  return std::ranges::find(kPhonemeMarks, character) != std::end(kPhonemeMarks);
}

std::vector<int64_t> phoneme_ids(std::string_view phonemes) {
  std::vector<int64_t> ids{ZonosSymbols::kBegin};
  for (size_t at = 0; at < phonemes.size();) {
    ids.push_back(ZonosSymbols::id(next_character(phonemes, at)));
  }
  ids.push_back(ZonosSymbols::kEnd);
  return ids;
}

namespace {

/// Python's notion of a space: Unicode's White_Space and the four separators of ASCII.
bool is_python_space(char32_t character) {
  return is_white_space(character) || (character >= 0x1C && character <= 0x1F);
}

std::string_view trim(std::string_view text) {
  while (!text.empty()) {
    size_t end = 0;
    if (!is_python_space(next_character(text, end))) break;
    text.remove_prefix(end);
  }
  while (!text.empty()) {
    size_t last = last_character(text);
    const size_t begin = last;
    if (!is_python_space(next_character(text, last))) break;
    text = text.substr(0, begin);
  }
  return text;
}

void check_text(const std::string& text, const std::string& language) {
  language_id(language);
  if (language == "ja") {
    throw UserError(
        "Zonos reads Japanese (\"ja\") only with a dictionary of readings, which predgen does not "
        "have: use --tts espeak for Japanese, or another language");
  }
  if (text.empty()) throw UserError("there is no text to speak: it is empty");
  require_utf8(text, "the text to speak");
}

}  // namespace

std::vector<TextPiece> split_words(std::string_view text) {
  std::vector<TextPiece> pieces;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) pieces.push_back({.text = std::exchange(word, {}), .is_word = true});
  };
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    bool marked = false;
    size_t end = at;
    while (end < text.size()) {  // the run of marks and white space
      size_t next = end;
      const char32_t character = next_character(text, next);
      const bool mark = ZonosSymbols::is_mark(character);
      if (!mark && !is_python_space(character)) break;
      marked |= mark;
      end = next;
    }
    if (marked) {
      end_word();
      pieces.push_back({.text = std::string(text.substr(begin, end - begin))});
    } else {
      if (end == begin) next_character(text, end);
      word += text.substr(begin, end - begin);
    }
    at = end;
  }
  end_word();
  return pieces;
}

std::string clean_phonemes(std::string_view raw) {
  const std::string_view trimmed = trim(raw);
  std::string text;
  for (size_t i = 0; i < trimmed.size(); ++i) {
    const auto is_blank = [&](size_t at) { return trimmed[at] == ' ' || trimmed[at] == '\n'; };
    if (trimmed[i] != '_') text += is_blank(i) ? ' ' : trimmed[i];
    if (is_blank(i) && i + 1 < trimmed.size() && is_blank(i + 1)) ++i;  // two become one
  }
  std::string cleaned;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (begin > 0) cleaned += ' ';
    cleaned += trim(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return cleaned;
}

Phonemizer::Phonemizer(const PhonemizerOptions& options)
    : english_numbers_(options.english_numbers),
      checked_mandarin_(!options.warns),
      espeak_(options.helper, options.timeout, "the Zonos voice") {}

std::string Phonemizer::phonemes(const std::string& text, const std::string& language) {
  check_text(text, language);
  if (language == "cmn" && !std::exchange(checked_mandarin_, true)) check_mandarin();
  const auto pieces = split_words(english_numbers_ ? numbers_to_words(text) : text);
  std::vector<std::string> words;
  for (const TextPiece& piece : pieces) {
    if (piece.is_word) words.push_back(piece.text);
  }
  std::vector<std::string> pronounced;
  if (!words.empty()) pronounced = espeak_.pronounce(words, language);
  std::string result;
  auto word = pronounced.begin();
  for (const TextPiece& piece : pieces) {
    if (piece.is_word) {
      result += clean_phonemes(*word++);
    } else {
      if (result.ends_with(' ')) result.pop_back();
      result += piece.text;
    }
  }
  return result;
}

std::vector<int64_t> Phonemizer::phoneme_ids(const std::string& text, const std::string& language) {
  return predgen::phoneme_ids(phonemes(text, language));
}

void Phonemizer::check_mandarin() {
  const std::string phonemes = espeak_.pronounce({"\u4f60\u597d"}, "cmn").front();
  if (phonemes.find("(en)") == std::string::npos) return;
  spdlog::warn(
      "the Zonos voice will not speak Chinese characters (language cmn) understandably: the "
      "installed espeak-ng, whose phonemes it reads, spells their tones as English numbers");
}

}  // namespace predgen
