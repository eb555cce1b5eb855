#pragma once

#include <string_view>

namespace predgen {

// Where the installed Unicode tables differ from those that determined the ids on which models were
// trained, those of the `tokenizers` library (0.23): its patterns follow Unicode 16, its normal
// forms Unicode 9. The ranges come from scripts/make_unicode_gaps.py, which compares every
// character with PCRE2 10.42 (Unicode 14) and utf8proc 2.8 (Unicode 15); newer versions of these
// two change nothing here.

/// Additions of Unicode 15 and 16, as ranges for use inside a character class.
extern const std::string_view kNewerLetters, kNewerMarks, kNewerDigits, kNewerNumbers;
/// The kinds of the letters: Lu, Ll, Lm and Lo (no Lt was added).
extern const std::string_view kNewerUpperLetters, kNewerLowerLetters, kNewerModifierLetters,
    kNewerOtherLetters;

/// Whether `character` has a decomposition or a combining class now, or ends a decomposition, but
/// did not in Unicode 9: in every normal form it stays as it is, and neighbours do not move across
/// it.
bool is_newer_than_normal_forms(char32_t character);

}  // namespace predgen
