#pragma once

#include <string>
#include <string_view>

#include "text/jinja/format_spec.h"
#include "text/jinja/value.h"

// A text or number in a given width, with a given number of digits.
namespace predgen::jinja {

/// Of type d, x, X, o, b, n or none; `precision` is the least number of digits.
std::string formatted_whole(Runtime& runtime, Int value, const FormatSpec& spec);
/// Of type e, f, g, n, % or none.
std::string formatted_real(Runtime& runtime, double value, const FormatSpec& spec);
/// `precision` is the most characters.
std::string formatted_text(Runtime& runtime, std::string_view text, const FormatSpec& spec);

}  // namespace predgen::jinja
