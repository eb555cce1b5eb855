#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// The usual abbreviations of `language` (en, de, es, fr, it; others have none) as words, and
/// capitals with points between as plain ones (U.S. "US"), so that a voice does not read a point
/// within a sentence as its end. A final abbreviation's point stays if the text ends there.
std::string spoken_abbreviations(std::string_view text, std::string_view language);

}  // namespace predgen
