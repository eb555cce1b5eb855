#pragma once

#include <functional>
#include <string>

#include "core/json.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// The grammar of a value by its schema, in JSON, as XGrammar writes grammars.
using ValueGrammar = std::function<std::string(const Json& schema)>;

/// The grammar of a call's arguments in Python: KEY=VALUE, in the order of the schema's properties,
/// with True, False and None; what is within lists and dictionaries is JSON. A function without
/// properties takes any arguments. UserError, if it `is_strict`, for a schema with properties that
/// it does not name.
std::string python_arguments(const Json& schema, bool is_strict, const ValueGrammar& value);

/// The grammar of a call's arguments, as XGrammar writes grammars, where the marks of the form may
/// not be in them: as a list of <parameter=KEY> (kXml), in Gemma's spelling with keys in the order
/// in which its template sorts them (kGemma), as KEY=VALUE in Python (kPython), or as JSON
/// (kHarmony). `schema`: as promised_schema() made it. `is_strict`: there are no other properties
/// than it names. UserError for what of a schema calls in Python cannot have.
std::string argument_grammar(const Json& schema, bool is_strict, ToolFormat format);

}  // namespace predgen
