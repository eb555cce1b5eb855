#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace predgen::jinja
