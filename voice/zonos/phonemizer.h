#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "voice/espeak/espeak_helper.h"

namespace predgen {

/// The codes of the languages that Zonos has an id for: the index is the id.
const std::vector<std::string>& zonos_languages();

/// UserError with the nearest code if `language` has none. Upper and lower case differ.
int64_t language_id(const std::string& language);

/// The voice model's alphabet: 189 ids, 4 of which are not symbols.
struct ZonosSymbols {
  static constexpr int64_t kPad = 0, kUnknown = 1, kBegin = 2, kEnd = 3, kCount = 189;

  /// kUnknown for a character that is not in the table; it is not dropped.
  static int64_t id(char32_t character);

  /// Whether it is one of the 24 separators kept unchanged between words; the space is one, the
  /// apostrophe is not.
  static bool is_mark(char32_t character);
};

/// kBegin, an id for every character of well-formed `phonemes`, kEnd.
std::vector<int64_t> phoneme_ids(std::string_view phonemes);

/// A piece of text: unchanged text between words, or a word (or several, if only a line break or a
/// tab separates them).
struct TextPiece {
  std::string text;
  bool is_word = false;
};

/// The pieces of well-formed `text` in order. Zonos was trained on words that were pronounced one
/// by one, because the space is a mark like the comma.
std::vector<TextPiece> split_words(std::string_view text);

/// espeak's raw answer for one word as Zonos expects it: phonemes joined, single spaces.
std::string clean_phonemes(std::string_view raw);

struct PhonemizerOptions {
  std::filesystem::path helper{};  // empty: predgen-espeak beside this program
  Seconds timeout{10};             // for a sentence
  bool english_numbers = true;     // numbers_to_words(); false: espeak reads digits
  bool warns = true;               // about what the installed espeak-ng cannot read
};

/// Converts text to Zonos' input. Used by one thread at a time.
class Phonemizer {
 public:
  /// Starts the helper. UserError if it is missing.
  explicit Phonemizer(const PhonemizerOptions& options);

  /// Marks unchanged, words in IPA. UserError if `text` is empty or ill-formed UTF-8, or if there
  /// is no such language (zonos_languages()) or it is "ja": that needs a dictionary of readings,
  /// and katakana is not accepted instead. Optionally warns once if espeak-ng cannot read Chinese
  /// characters in "cmn", as version 1.51 cannot; its answer is used, as in the model's own front
  /// end.
  std::string phonemes(const std::string& text, const std::string& language);

  /// The model's symbol ids for phonemes(), from ZonosSymbols::kBegin to kEnd.
  std::vector<int64_t> phoneme_ids(const std::string& text, const std::string& language);

 private:
  void check_mandarin();

  bool english_numbers_;
  bool checked_mandarin_;
  EspeakPhonemes espeak_;
};

}  // namespace predgen
