#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

// A text or number in a given width, with a given number of digits.

namespace predgen::jinja {

/// What both of Python's ways to format say of a number or text.
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // < > ^ = or as the type has it
  char sign = '-';    // + - or a blank
  bool is_alternate = false;
  int64_t width = 0, precision = -1;
  char group = '\0';  // , or _
  char type = '\0';
};

/// Of type d, x, X, o, b, n or none; `precision` is the least number of digits.
std::string formatted_whole(Runtime& runtime, Int value, const FormatSpec& spec);
/// Of type e, f, g, n, % or none.
std::string formatted_real(Runtime& runtime, double value, const FormatSpec& spec);
/// `precision` is the most characters.
std::string formatted_text(Runtime& runtime, std::string_view text, const FormatSpec& spec);

}  // namespace predgen::jinja
