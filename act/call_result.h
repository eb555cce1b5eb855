#pragma once

#include <cstddef>

#include "act/tool_runner.h"
#include "core/json.h"

namespace predgen::act {

/// What a model gets to read of the answer to tools/call: its texts, or else what it is structured
/// as; other content is only named. More than `most` bytes are cut, and it says so.
ToolResult read_call_result(const Json& answer, size_t most);

/// `text` without control characters, cut at `most` bytes, which it then says.
std::string bounded(std::string_view text, size_t most);

}  // namespace predgen::act
