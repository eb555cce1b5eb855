#pragma once

#include <functional>
#include <string>

#include "core/json.h"

namespace predgen {

/// The grammar of a value by its schema, in JSON, as XGrammar writes grammars.
using ValueGrammar = std::function<std::string(const Json& schema)>;

/// The grammar of a call's arguments in Python: KEY=VALUE, in the order of the schema's properties,
/// with True, False and None; what is within lists and dictionaries is JSON. A function without
/// properties takes any arguments. UserError, if it `is_strict`, for a schema with properties that
/// it does not name.
std::string python_arguments(const Json& schema, bool is_strict, const ValueGrammar& value);

}  // namespace predgen
