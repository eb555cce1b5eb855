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

/// The field `tools`; nullopt: it is missing. ApiError for anything but functions.
std::optional<ToolSet> read_tools(RequestFields& fields, ToolShape shape);

/// The field `tool_choice`: whether functions may be called. ApiError for a choice that cannot be
/// honoured: no answer is forced to have a call.
std::optional<bool> read_tool_choice(RequestFields& fields);

/// The field `tools` as it is sent back, from what read_tools() returned.
Json tools_json(const ToolSet& tools, ToolShape shape);

/// The tool_calls of a message, found at `where`; null: none.
std::vector<ToolCall> read_tool_calls(const Json& list, const std::string& where);

/// A call's arguments; an empty text means none. ApiError unless they are a JSON object.
std::string read_arguments(const std::string& text, const std::string& where);

}  // namespace predgen::serve
