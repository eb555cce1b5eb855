#pragma once

#include <string>

namespace predgen::cli {

/// Columns that one line of stderr's terminal has, but for a few at its end.
int line_width();

/// The end of `text` that fits into one line of stderr's terminal, control characters blanked.
std::string last_line(std::string text);

}  // namespace predgen::cli
