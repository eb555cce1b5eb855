#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "voice/espeak/espeak_phonemes.h"
#include "voice/zonos/languages.h"

namespace predgen {

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
