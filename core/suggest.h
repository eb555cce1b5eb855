#pragma once

#include <optional>
#include <string>
#include <vector>

namespace predgen {

/// The word of `valid` that `wrong` probably means; none if no word is close.
std::optional<std::string> nearest_word(const std::string& wrong,
                                        const std::vector<std::string>& valid);

/// For messages about a wrong word: `did you mean "x"?` with the closest of `valid`, or, if none is
/// close, the whole list. A word of more than 64 bytes is close to none.
std::string suggest(const std::string& wrong, const std::vector<std::string>& valid);

}  // namespace predgen
