#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// English times as spoken ("7:30" "7 30", "5:00" "5 o'clock") and amounts at whose point a voice
/// would pause ("$2.5 million", "€3.50"). Other numbers are unchanged.
std::string english_figures(std::string_view text);

}  // namespace predgen
