#pragma once

#include <string>

namespace predgen::evaluate {

/// `text` as HTML, escaped, with words that `reference` lacks in <mark>. Texts of thousands of
/// words are compared by their common start and end alone.
std::string mark_difference(const std::string& reference, const std::string& text);

}  // namespace predgen::evaluate
