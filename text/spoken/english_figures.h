#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Amounts with the sign or code of a currency, as they are said in English: "$1.5M" "1.5 million
/// dollars", "€3.50" "3 euros 50", "$5-10" "5 to 10 dollars", "a $20 bill" "a 20 dollar bill",
/// "5 USD" "5 US dollars", "$15/hour" "15 dollars per hour". Other text is unchanged.
std::string english_money(std::string_view text);

/// Signs between and beside numbers as they are said in English: ranges and scores ("5-7" "5 to 7",
/// "3:1" "3 to 1"), fractions ("3/4 cup" "three quarters of a cup", "9/10" "9 out of 10"), negative
/// numbers and sums, "#12" "number 12", degrees, heights and lengths (5'10" "5 foot 10"). Other
/// text is unchanged. Amounts of money, telephone numbers and codes must have become words before.
std::string english_numbers(std::string_view text);

/// Figures that are no quantities, as they are said in English. Telephone numbers, codes with
/// leading zeros and other long or named codes: digit by digit, a pause between their groups
/// ("555-0132" "5 5 5, 0 1 3 2"). Addresses of machines: "10.0.0.1" "10 dot 0 dot 0 dot 1".
/// Versions: "v1.2.3" "version 1 point 2 point 3". Other text is unchanged.
std::string english_codes(std::string_view text);

/// Dates in figures as they are said in English: "2026-11-28", "11/28/2026" and "28.11.2026"
/// "November 28, 2026", "on 3/14" "on March 14"; with slashes or hyphens the month comes first if
/// both orders are dates. Short names of months and days beside numbers and in ranges become whole
/// ("Mon-Fri" "Monday to Friday"). Other text is unchanged.
std::string english_dates(std::string_view text);

/// Figures as they are said in English: dates, telephone numbers and other codes, money, ranges,
/// fractions, lengths (the functions of this file), and times ("7:30" "7 30", "5:00"
/// "5 o'clock"). Other numbers are unchanged: a voice reads them.
std::string english_figures(std::string_view text);

}  // namespace predgen
