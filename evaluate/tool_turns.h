#pragma once

#include <string>
#include <vector>

#include "evaluate/eval_turn.h"
#include "evaluate/turn_sets.h"
#include "runtime/converse/turn.h"
#include "text/tools/tool_call.h"

namespace predgen::evaluate {

/// Requests of users who want something done: rows {"id", "text"}, perhaps with "call", the right
/// one ({"name", "arguments"}; null: none; each argument its value, or a list of those that are
/// right), "half" ("choose" or "report") and "source"; and the tools that the model may call.
TurnSet read_tool_turns(const TurnSetConfig& config);

/// Whether these calls are what the request wants: that one, however often, and no other. Texts
/// are equal without case, punctuation, and an article in front.
bool is_right(const RightCall& right, const std::vector<ToolCall>& calls);
/// Whether the first call is of the right tool.
bool has_right_name(const RightCall& right, const std::vector<ToolCall>& calls);

/// How many seconds before the final transcript the user had said all that the call needs, and has
/// left it so: the soonest at which anybody can know it. `events`: of the turn. Values that are
/// said in other words do not count.
double said_ahead(const RightCall& right, const std::vector<TurnEvent>& events);

/// For a person: get_time {"city": "Tokyo"}; "none".
std::string call_text(const RightCall& right);
std::string call_text(const std::vector<ToolCall>& calls);

}  // namespace predgen::evaluate
