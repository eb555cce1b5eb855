#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace predgen {

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

}  // namespace predgen
