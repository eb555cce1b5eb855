#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Spells the numbers of `text` as English words, whatever its language, as in Zonos' training.
/// Amounts of `$` and `£`, decimals, ordinals (2nd) and years are known; the order of the rules and
/// their quirks ("$1.5" is five cents) belong to the model. Only ASCII digits count.
/// Where the training code would fail: stray commas of an amount are dropped ("$,5"), and a number
/// of more than 36 digits is read digit by digit.
std::string numbers_to_words(std::string_view text);

}  // namespace predgen
