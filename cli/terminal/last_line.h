#pragma once

#include <string>

namespace predgen::cli {

/// The end of `text` that fits into one line of stderr's terminal, control characters blanked.
std::string last_line(std::string text);

}  // namespace predgen::cli
