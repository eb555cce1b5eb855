#pragma once

#include <string>

#include "core/json.h"

namespace predgen {

/// A function as ToolSet::json has it: what models are shown, in one order, whoever offers it.
/// `description` empty: none. `parameters`: a JSON schema, of an object whether it says so or not;
/// no object: it takes none.
Json shown_tool(const std::string& name, const std::string& description, const Json& parameters);

}  // namespace predgen
