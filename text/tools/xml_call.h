#pragma once

#include <optional>
#include <string_view>

#include "core/json.h"

namespace predgen {

inline constexpr std::string_view kXmlFunction = "<function=";  // begins a call

/// A call as Qwen3-Coder and Qwen3.5 write it, as {"name", "arguments"}:
///
///     <function=NAME>
///     <parameter=KEY>
///     value
///     </parameter>
///     </function>
///
/// Texts stand there as they are, other values as JSON, or as Python prints them (True, None).
/// `tools`: as ToolSet::json; its schemas tell which of the two a value is. Without one it is JSON
/// if it can be. `text` is without the last line. nullopt: it is no such call.
std::optional<Json> parse_xml_call(std::string_view text, const Json& tools);

}  // namespace predgen
