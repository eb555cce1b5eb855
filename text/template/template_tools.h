#pragma once

#include <functional>
#include <string>

#include "core/json.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// A call as templates want it: an object as arguments.
Json call_json(const std::string& id, const std::string& name, const Json& arguments);

/// Mistral's templates take only ids of nine letters and digits: the last ones of others.
std::string nine_characters(const std::string& id);

/// `value` with all its texts and keys changed.
Json with_texts(const Json& value, const std::function<std::string(const std::string&)>& change);

/// Renders messages and tools, as a template does; UserError where it does not take them.
using RunTemplate =
    std::function<std::string(const Json& messages, bool add_generation_prompt, const Json& tools)>;
/// The form of calls in what a template makes of one; kNone if it does not show tools.
ToolFormat find_tool_format(const RunTemplate& run);

}  // namespace predgen
