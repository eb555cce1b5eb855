#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Figures that are no quantities, as they are said in English. Telephone numbers, codes with
/// leading zeros and other long or named codes: digit by digit, a pause between their groups
/// ("555-0132" "5 5 5, 0 1 3 2"). Addresses of machines: "10.0.0.1" "10 dot 0 dot 0 dot 1".
/// Versions: "v1.2.3" "version 1 point 2 point 3". Other text is unchanged.
std::string english_codes(std::string_view text);

}  // namespace predgen
