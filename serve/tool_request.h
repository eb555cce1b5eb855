#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "serve/request_fields.h"
#include "text/tokenizer.h"

namespace predgen::serve {

/// Whether a function's fields lie in an object of their own, as in chat completions, or beside its
/// type, as in realtime sessions.
enum class ToolShape { kNested, kFlat };

/// The field `tools`; nothing: it is not there. ApiError for what is no function.
std::optional<ToolSet> read_tools(RequestFields& fields, ToolShape shape);

/// The field `tool_choice`: whether functions may be called. ApiError for a choice that cannot be
/// kept: no answer is made to have a call.
std::optional<bool> read_tool_choice(RequestFields& fields);

/// The field `tools` as it is given back: what read_tools() made of it.
Json tools_json(const ToolSet& tools, ToolShape shape);

/// The tool_calls of a message, which lie at `where`; null: none.
std::vector<ToolCall> read_tool_calls(const Json& list, const std::string& where);

/// A call's arguments, which an empty text has none of. ApiError if they are no JSON object.
std::string read_arguments(const std::string& text, const std::string& where);

}  // namespace predgen::serve
