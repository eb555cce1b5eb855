#include "text/unicode_gaps.h"

#include <algorithm>

#include "text/unicode_gap_ranges.h"

namespace predgen {

const std::string_view kNewerLetters = kGapLetters, kNewerMarks = kGapMarks,
                       kNewerDigits = kGapDigits, kNewerNumbers = kGapNumbers;
const std::string_view kNewerUpperLetters = kGapUpperLetters, kNewerLowerLetters = kGapLowerLetters,
                       kNewerModifierLetters = kGapModifierLetters,
                       kNewerOtherLetters = kGapOtherLetters;

bool is_newer_than_normal_forms(char32_t character) {
  const auto* range = std::ranges::lower_bound(kGapInert, character, {}, &CharacterRange::last);
  return range != std::end(kGapInert) && character >= range->first;
}

}  // namespace predgen
