#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "data/conversation.h"

namespace predgen::data {

struct PythonJson {
  Json value;
  bool has_lone_surrogate = false;  // half a pair of \u escapes; U+FFFD stands for it
};

/// Parses JSON as Python's module `json` writes it: NaN, Infinity and -Infinity become null, and
/// half a surrogate pair U+FFFD. UserError in the JSON parser's words for anything else.
PythonJson parse_python_json(std::string_view text);

/// One row of JSON a line, as Python writes it: NaN and Infinity are read as null, and a row with
/// half a surrogate pair gets a fault. UserError for a file that is not UTF-8.
std::unique_ptr<ConversationReader> open_jsonl(const std::filesystem::path& file, BadRows bad_rows);

}  // namespace predgen::data
