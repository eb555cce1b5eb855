#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace predgen::jinja {

/// What a literal between quotes means: Python's unicode-escape. Failure for a code that is none.
std::string unescaped_literal(std::string_view text);

struct NumberLiteral {
  size_t length = 0;
  bool is_float = false, fits = true;
  Int integer = 0;
  double number = 0;
};
/// The number that `text`, which begins with a digit, begins with.
NumberLiteral read_number_literal(std::string_view text, bool may_be_float);

}  // namespace predgen::jinja
