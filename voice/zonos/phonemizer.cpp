#include "voice/zonos/phonemizer.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "text/utf8.h"
#include "voice/zonos/languages.h"
#include "voice/zonos/number_words.h"
#include "voice/zonos/symbols.h"

namespace predgen {
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
