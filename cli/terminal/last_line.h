#pragma once

#include <string>
#include <string_view>

namespace predgen::cli {

/// Columns that one line of stderr's terminal has, but for a few at its end.
int line_width();

/// The end of `text` that fits into one line of stderr's terminal, control characters blanked.
std::string last_line(std::string text);

/// A line of at most `width` (> 8) columns: "> heard  ~ draft". What was heard is whole, if it
/// fits, and of the draft the beginning; otherwise there is no draft, and what was heard last.
std::string heard_and_draft(std::string_view heard, std::string_view draft, int width);

}  // namespace predgen::cli
