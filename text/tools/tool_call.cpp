#include "text/tools/tool_call.h"

#include <algorithm>
#include <array>

namespace predgen {

Json shown_tool(const std::string& name, const std::string& description, const Json& parameters) {
  Json function{{"name", name}};
  if (!description.empty()) function["description"] = description;
  Json& schema = function["parameters"];
  schema = parameters.is_object() ? parameters
                                  : Json{{"type", "object"}, {"properties", Json::object()}};
  const bool says_what =
      std::ranges::any_of(std::array{"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"},
                          [&](const char* keyword) { return schema.contains(keyword); });
  if (!says_what) schema["type"] = "object";
  return {{"type", "function"}, {"function", std::move(function)}};
}

}  // namespace predgen
