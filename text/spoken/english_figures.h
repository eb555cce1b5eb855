#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// English times as they are said ("7:30" "7 30", "5:00" "5 o'clock") and amounts that a voice
/// would break at their point ("$2.5 million", "€3.50"). Other numbers stay.
std::string english_figures(std::string_view text);

}  // namespace predgen
