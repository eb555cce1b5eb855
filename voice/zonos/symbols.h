#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace predgen {

/// The voice model's alphabet: 189 ids, of which 4 are no symbols.
struct ZonosSymbols {
  static constexpr int64_t kPad = 0, kUnknown = 1, kBegin = 2, kEnd = 3, kCount = 189;

  /// kUnknown for a character that is not in the table: it is not left out.
  static int64_t id(char32_t character);

  /// One of the 24 separators that stay as they are between words; the space is one, the
  /// apostrophe is not.
  static bool is_mark(char32_t character);
};

/// kBegin, an id for every character of well-formed `phonemes`, kEnd.
std::vector<int64_t> phoneme_ids(std::string_view phonemes);

}  // namespace predgen
