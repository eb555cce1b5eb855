#pragma once

#include <string>

#include "core/json.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// As Python's json.dumps() writes it, which models have seen: blanks behind commas and colons.
/// Texts may have bytes that are no UTF-8 (ControlTokens). `what`: the value, for errors.
std::string python_json(const Json& value, const char* what);

/// The calls of a message, a list as OpenAI's API has it, as a model of this form writes them into
/// its answer: one of kHermes, kMistral and kPython.
std::string call_text(ToolFormat format, const Json& calls);

}  // namespace predgen
