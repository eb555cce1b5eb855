#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// One line of markdown without the marks of links, images, emphasis, tags, formulas and code
/// spans. What is left of one that was cut at its line's or sentence's end goes too.
std::string markdown_inline(std::string_view line);

}  // namespace predgen
