#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Signs between and beside numbers as they are said in English: ranges and scores ("5-7" "5 to 7",
/// "3:1" "3 to 1"), fractions ("3/4 cup" "three quarters of a cup", "9/10" "9 out of 10"), negative
/// numbers and sums, "#12" "number 12", degrees, heights and lengths (5'10" "5 foot 10"). Other
/// text is unchanged. Amounts of money, telephone numbers and codes must have become words before.
std::string english_numbers(std::string_view text);

}  // namespace predgen
