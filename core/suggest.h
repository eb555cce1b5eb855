#pragma once

#include <string>
#include <vector>

namespace predgen {

/// For messages about a wrong word: `did you mean "x"?` with the nearest of `valid`, or, when none
/// is near, the whole list.
std::string suggest(const std::string& wrong, const std::vector<std::string>& valid);

}  // namespace predgen
