#pragma once

#include <optional>
#include <string>
#include <vector>

namespace predgen {

/// The word of `valid` that `wrong` was probably meant to be; none if no word is near.
std::optional<std::string> nearest_word(const std::string& wrong,
                                        const std::vector<std::string>& valid);

/// For messages about a wrong word: `did you mean "x"?` with the nearest of `valid`, or, when none
/// is near, the whole list. A word of more than 64 bytes is near to none.
std::string suggest(const std::string& wrong, const std::vector<std::string>& valid);

}  // namespace predgen
