#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Formulas in LaTeX as text that a voice can read: what begins and ends them goes (`\(`, `$$`, `$`
/// but not that of "$5"), commands become their signs, words or nothing, "\frac{a}{b}" "a / b".
/// Powers and indices keep ^ and _. Other text stays, backslashes of file
/// paths too unless a folder has the name of a command.
std::string without_latex(std::string_view text);

}  // namespace predgen
