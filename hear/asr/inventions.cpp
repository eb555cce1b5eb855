#include "hear/asr/inventions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hear/asr/invented_phrases.h"
#include "hear/asr/voice_activity.h"
#include "text/characters.h"

namespace predgen::ears {
namespace {

constexpr int64_t kWord = kRate * 3 / 10;  // one that people do say, too, but not that fast
constexpr int64_t kClosing = kRate;        // the end of a video: a sentence
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

constexpr std::array kAsking{"?",    "？",   "؟",    "谁", "誰",   "吗",   "嗎",
                             "什么", "什麼", "どう", "何", "誰が", "누가", "뭐"};

char32_t lower(char32_t code) {
  if (code >= 'A' && code <= 'Z') return code + 0x20;
  if (code >= 0xC0 && code <= 0xDE && code != 0xD7) return code + 0x20;  // À to Þ
  if (code == 0x130) return 'i';                                         // İ
  if (code == 0x178) return 0xFF;                                        // Ÿ
  const bool is_even_pair = (code >= 0x100 && code <= 0x137) || (code >= 0x14A && code <= 0x177);
  const bool is_odd_pair = (code >= 0x139 && code <= 0x148) || (code >= 0x179 && code <= 0x17E);
  if (is_even_pair) return code | 1;
  if (is_odd_pair) return code % 2 == 1 ? code + 1 : code;
  if (code >= 0x410 && code <= 0x42F) return code + 0x20;  // А to Я
  if (code >= 0x400 && code <= 0x40F) return code + 0x50;  // Ѐ to Џ
  return code;
}

/// Arabic as it is written without marks of vowels, and with one form of alef.
char32_t plain_arabic(char32_t code) {
  return code == 0x622 || code == 0x623 || code == 0x625 ? 0x627 : code;
}

/// As compared: letters and digits alone, in lower case.
std::u32string key_of(std::string_view text) {
  std::u32string key;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    if (is_letter_or_digit(character.code)) key += plain_arabic(lower(character.code));
    i += character.length;
  }
  return key;
}

std::set<std::u32string> keys_of(std::span<const char* const> texts) {
  std::set<std::u32string> keys;
  for (const char* text : texts) keys.insert(key_of(text));
  return keys;
}

bool is_question(std::string_view text) {
  return std::ranges::any_of(
      kAsking, [&](const char* sign) { return text.find(sign) != std::string_view::npos; });
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t i = skip_space(text, 0); i < text.size();) {
    const size_t end = std::min(text.find(' ', i), text.size());
    words.push_back(text.substr(i, end - i));
    i = skip_space(text, end);
  }
  return words;
}

bool is_name(std::string_view word) {
  static const std::set<std::u32string> kSmall = keys_of(words_between_names());
  const std::u32string key = key_of(word);
  if (key.empty() || kSmall.contains(key)) return true;
  size_t i = 0;
  while (i < word.size() && !is_letter_or_digit(character_at(word, i).code)) {
    i += character_at(word, i).length;
  }
  const char32_t first = character_at(word, i).code;
  return !is_lower(first) || word.find('.') + 1 < word.size();  // "amara.org"; npos + 1 is 0
}

/// "Subtitles by the Amara.org community", "Untertitel von Anna Muster".
bool is_credit(std::string_view text) {
  static const std::set<std::u32string> kBefore = keys_of(credits_before_names());
  constexpr size_t kLongestBefore = 6, kLongestName = 6;
  const std::vector<std::string_view> words = words_of(text);
  std::u32string before;
  for (size_t count = 1; count < std::min(words.size(), kLongestBefore + 1); ++count) {
    before += key_of(words[count - 1]);
    const std::span rest = std::span(words).subspan(count);
    if (kBefore.contains(before) && rest.size() <= kLongestName &&
        std::ranges::all_of(rest, is_name) && !is_lower(character_at(rest.back(), 0).code)) {
      return true;
    }
  }
  return false;
}

/// Credits of Amara.org, however they are put, and those in Chinese and Korean, which has no
/// capitals.
bool is_other_credit(const std::u32string& key) {
  constexpr std::array kSubtitles{U"subtit",    U"untertitel", U"soustit", U"subtít", U"legend",
                                  U"sottotit",  U"ondertit",   U"napis",   U"субтит", U"altyaz",
                                  U"undertext", U"字幕",       U"자막",    U"ترجم",   U"transcri"};
  constexpr std::array kBeforeHanNames{
      U"字幕by",   U"字幕志愿者", U"字幕志願者", U"中文字幕志愿者", U"小编字幕",
      U"小編字幕", U"字幕制作",   U"字幕製作",   U"字幕提供",       U"中文字幕提供",
      U"자막by",   U"한글자막by", U"자막제공"};
  constexpr size_t kLongest = 60;
  const auto begins = [&](const char32_t* with) { return key.starts_with(with); };
  if (key.size() > kLongest) return false;
  if (std::ranges::any_of(kBeforeHanNames, begins)) return true;
  if (key.find(U"amaraorg") == std::u32string::npos) return false;
  return std::ranges::any_of(kSubtitles, begins) || key.find(U"字幕") != std::u32string::npos;
}

int64_t voice_of(std::string_view sentence) {
  static const std::set<std::u32string> words = keys_of(invented_words()),
                                        closings = keys_of(invented_closings()),
                                        credits = keys_of(invented_credits());
  const std::u32string key = key_of(sentence);
  if (words.contains(key)) return kWord;
  if (closings.contains(key)) return kClosing;
  if (is_question(sentence)) return 0;
  return credits.contains(key) || is_credit(sentence) || is_other_credit(key) ? kNever : 0;
}

/// Where the sentence that begins at `begin` ends; a point within a word ends none.
size_t end_of_sentence(std::string_view text, size_t begin) {
  constexpr std::u32string_view kMarks = U".!?\u2026",
                                kWideMarks = U"\u3002\uff01\uff1f\u0964\u06d4";
  for (size_t i = begin; i < text.size();) {
    const Character character = character_at(text, i);
    i += character.length;
    if (kWideMarks.find(character.code) != std::u32string_view::npos) return i;
    if (kMarks.find(character.code) == std::u32string_view::npos) continue;
    if (i == text.size() || is_space(character_at(text, i).code)) return i;
  }
  return text.size();
}

}  // namespace

int64_t voice_to_believe(const std::string& text) {
  if (const int64_t voice = voice_of(text); voice > 0) return voice;
  int64_t most = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = end_of_sentence(text, begin);
    const std::string_view sentence = std::string_view(text).substr(begin, end - begin);
    begin = end;
    if (key_of(sentence).empty()) continue;
    const int64_t voice = voice_of(sentence);
    if (voice == 0) return 0;  // somebody has said more
    most = std::max(most, voice);
  }
  return most;
}

}  // namespace predgen::ears
