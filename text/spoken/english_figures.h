#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Figures as they are said in English: dates, telephone numbers and other codes, money, ranges,
/// fractions, lengths (english_dates.h and its neighbours), and times ("7:30" "7 30", "5:00"
/// "5 o'clock"). Other numbers are unchanged: a voice reads them.
std::string english_figures(std::string_view text);

}  // namespace predgen
