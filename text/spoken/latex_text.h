#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// LaTeX formulas as text that a voice can read: delimiters are removed (`\(`, `$$`, `$` but not
/// that of "$5"), commands become their signs, words or nothing, "\frac{a}{b}" "a / b". Powers and
/// indices keep ^ and _. Other text is unchanged, and so are backslashes of file
/// paths, unless a folder has the name of a command.
std::string without_latex(std::string_view text);

}  // namespace predgen
