#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace predgen::data {

struct PythonJson {
  Json value;
  bool has_lone_surrogate = false;  // half a pair of \u escapes; U+FFFD stands for it
};

/// Parses JSON as Python's module `json` writes it: NaN, Infinity and -Infinity become null, and
/// half a surrogate pair U+FFFD. UserError in the JSON parser's words for anything else.
PythonJson parse_python_json(std::string_view text);

}  // namespace predgen::data
