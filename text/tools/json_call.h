#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// The calls in a JSON value as models write them: {"name", "arguments"} or "parameters", a list of
/// such, or wrapped as OpenAI's API has them ({"function": ..}, {"tool_calls": [..]}). nullopt: it
/// has something else, or a function that is not one of `names`. `needs_arguments`: a name alone is
/// no call.
std::optional<std::vector<ToolCall>> to_calls(const Json& value,
                                              const std::vector<std::string>& names,
                                              bool needs_arguments);

}  // namespace predgen
