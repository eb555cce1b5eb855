#include "hear/asr/heard_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "hear/asr/ear.h"
#include "hear/asr/invented_phrases.h"
#include "text/utf8.h"
#include "text/words.h"

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

using Keys = std::set<std::u32string>;

/// Never destroyed, as the decoding thread, which has no end, may read them while the program
/// exits.
const Keys& keys_of(std::span<const char* const> texts) {
  Keys& keys = *new Keys;
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
  static const Keys& kSmall = keys_of(words_between_names());
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
  static const Keys& kBefore = keys_of(credits_before_names());
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
  static const Keys &words = keys_of(invented_words()), &closings = keys_of(invented_closings()),
                    &credits = keys_of(invented_credits());
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

namespace {

constexpr size_t kLongestLoop = 8;      // words
constexpr size_t kMostRepeats = 4;      // of words in a row that may really have been said
constexpr size_t kFewestRestarted = 3;  // words

bool is_word_byte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || (byte & 0x80) != 0;
}

/// A word as compared: lower case without marks.
std::string plain(std::string_view word) {
  std::string letters;
  for (const char byte : word) {
    if (is_word_byte(byte) || byte == '\'') letters += lower_ascii(byte);
  }
  return letters;
}

/// Brackets of Whisper's descriptions, also as Chinese and Japanese have them.
struct Brackets {
  std::string_view opening, closing;
};
constexpr std::array<Brackets, 5> kBrackets{
    {{"[", "]"}, {"(", ")"}, {"\uff08", "\uff09"}, {"\u3010", "\u3011"}, {"\uff3b", "\uff3d"}}};

/// Whether it describes a sound: "(coughs)". Figures, as of a telephone number, and single letters
/// are said.
bool is_description(std::string_view inside) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto num_letters = std::ranges::count_if(inside, is_word_byte);
  return std::ranges::none_of(inside, is_digit) && num_letters != 1;
}

/// Without [Music], (coughs) and notes: descriptions are not speech.
std::string without_descriptions(const std::string& text) {
  constexpr std::string_view kNote = "\u266a";
  std::string said;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    const auto brackets = std::ranges::find_if(
        kBrackets, [&](const Brackets& pair) { return rest.starts_with(pair.opening); });
    if (brackets != kBrackets.end()) {
      const size_t begin = brackets->opening.size(), end = rest.find(brackets->closing, begin);
      if (end != std::string_view::npos && is_description(rest.substr(begin, end - begin))) {
        i += end + brackets->closing.size();
        continue;
      }
    }
    if (rest.starts_with(kNote)) {
      i += kNote.size();
    } else {
      said += text[i++];
    }
  }
  return said;
}

/// How often the `size` words at `begin` follow each other.
size_t count_repeats(const std::vector<std::string>& words, size_t begin, size_t size) {
  size_t count = 1;
  while (begin + (count + 1) * size <= words.size() &&
         std::equal(words.begin() + static_cast<std::ptrdiff_t>(begin),
                    words.begin() + static_cast<std::ptrdiff_t>(begin + size),
                    words.begin() + static_cast<std::ptrdiff_t>(begin + count * size))) {
    ++count;
  }
  return count;
}

bool ends_sentence(const std::string& word) { return without_end_marks(word) != word; }

/// Whether the words from `begin` on, of which the last may be cut, are those at the start.
bool starts_over(const std::vector<std::string>& words, size_t begin) {
  const size_t count = words.size() - begin;
  return count >= kFewestRestarted && count <= begin &&
         std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count - 1),
                    words.begin() + static_cast<std::ptrdiff_t>(begin)) &&
         words[count - 1].starts_with(words.back());
}

/// Reduces a loop to one repetition, and ends with the last sentence that is no start of the text
/// once more.
std::string without_repeats(const std::string& text) {
  std::vector<std::string> words, plain_words;
  for (std::string& word : list_words(text)) {
    plain_words.push_back(plain(word));
    words.push_back(std::move(word));
  }
  for (size_t begin = words.size(); begin-- > 1;) {
    if (!ends_sentence(words[begin - 1]) || !starts_over(plain_words, begin)) continue;
    words.resize(begin);
    plain_words.resize(begin);
  }
  std::string kept;
  for (size_t i = 0; i < words.size(); ++i) {
    kept = joined(kept, " ", words[i]);
    for (size_t size = 1; size <= kLongestLoop && i + 1 >= size; ++size) {
      const size_t begin = i + 1 - size;
      const size_t repeats = count_repeats(plain_words, begin, size);
      if (repeats <= kMostRepeats) continue;
      i = begin + repeats * size - 1;
      break;
    }
  }
  return kept;
}

}  // namespace

std::string believable_text(const std::string& text, int64_t voice) {
  std::string said = without_repeats(without_descriptions(text));
  if (std::none_of(said.begin(), said.end(), is_word_byte)) return {};
  return voice >= voice_to_believe(said) ? said : std::string();
}

std::string without_end_mark(const std::string& text) {
  return std::string(without_end_marks(trimmed(text)));
}

std::string in_small_letters(const std::string& text) {
  const auto is = [](int (*kind)(int)) {
    return [kind](char byte) { return kind(static_cast<unsigned char>(byte)) != 0; };
  };
  if (std::any_of(text.begin(), text.end(), is(std::islower))) return text;
  std::string small;
  for (const std::string& word : list_words(text)) {
    const bool is_i = word == "I" || word.starts_with("I'");
    small = joined(small, " ", is_i ? "I" + lower_ascii(word.substr(1)) : lower_ascii(word));
  }
  return small;
}

}  // namespace predgen::ears
