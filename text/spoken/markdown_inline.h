#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// One line of markdown without the marks of links, images, emphasis, tags, formulas and code
/// spans. Remnants of marks cut off at the end of the line or sentence are also removed.
std::string markdown_inline(std::string_view line);

}  // namespace predgen
