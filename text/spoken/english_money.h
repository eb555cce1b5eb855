#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Amounts with the sign or code of a currency, as they are said in English: "$1.5M" "1.5 million
/// dollars", "€3.50" "3 euros 50", "$5-10" "5 to 10 dollars", "a $20 bill" "a 20 dollar bill",
/// "5 USD" "5 US dollars", "$15/hour" "15 dollars per hour". Other text is unchanged.
std::string english_money(std::string_view text);

}  // namespace predgen
