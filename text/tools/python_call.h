#pragma once

#include <optional>
#include <string_view>

#include "core/json.h"

namespace predgen {

/// Calls as LFM2 writes them, in Python: [lamp(on=True, name="x"), bell()], as a list of {"name",
/// "arguments"}. One may stand without brackets. Values are Python's texts, numbers, True, False,
/// None, lists and dictionaries, or JSON's; nothing is computed. A quote ends a text only where a
/// value may end, because LFM2.5's template escapes none. Values without a name go to the
/// function's parameters in their order, as `tools` has them (ToolSet::json). JSON instead of
/// Python is read, too. nullopt: it is no such list.
std::optional<Json> parse_python_calls(std::string_view text, const Json& tools);

}  // namespace predgen
