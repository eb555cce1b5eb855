#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Dates in figures as they are said in English: "2026-11-28", "11/28/2026" and "28.11.2026"
/// "November 28, 2026", "on 3/14" "on March 14"; with slashes or hyphens the month comes first if
/// both orders are dates. Short names of months and days beside numbers and in ranges become whole
/// ("Mon-Fri" "Monday to Friday"). Other text is unchanged.
std::string english_dates(std::string_view text);

}  // namespace predgen
