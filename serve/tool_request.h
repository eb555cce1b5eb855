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

/// Whether an answer has calls.
struct ToolChoice {
  enum class Kind { kAuto, kNone, kRequired };
  Kind kind = Kind::kAuto;
  std::string only{};  // kRequired: the function that is called; empty: any

  bool operator==(const ToolChoice&) const = default;
};

/// The field `tool_choice`: auto, none, required (or any), or a function by its name; nullopt: it
/// is missing. ApiError for others.
std::optional<ToolChoice> read_tool_choice(RequestFields& fields);
/// As it is sent back.
Json tool_choice_json(const ToolChoice& choice, ToolShape shape);
/// ApiError that names the field `name` if `choice` asks for a call that none of `tools` is.
void check_tool_choice(const ToolChoice& choice, const ToolSet& tools, const std::string& name);

/// The field `tools` as it is sent back, from what read_tools() returned.
Json tools_json(const ToolSet& tools, ToolShape shape);

/// The tool_calls of a message, found at `where`; null: none.
std::vector<ToolCall> read_tool_calls(const Json& list, const std::string& where);

/// Whether one of these messages has the call with this id.
bool has_call(const std::vector<Message>& messages, const std::string& id);

/// A call's arguments; an empty text means none. ApiError unless they are a JSON object.
std::string read_arguments(const std::string& text, const std::string& where);

}  // namespace predgen::serve
