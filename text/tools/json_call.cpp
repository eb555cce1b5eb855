#include "text/tools/json_call.h"

#include <algorithm>

#include "text/tools/call_json.h"

namespace predgen {
namespace {

std::string text_at(const Json& value, const char* key) {
  const Json text = value.value(key, Json());
  return text.is_string() ? text.get<std::string>() : "";
}

/// The arguments of a call: an object, or one that is written as a text.
std::optional<Json> arguments_of(const Json& call, bool are_needed) {
  std::optional<Json> arguments;
  for (const char* key : {"parameters", "arguments"}) {
    if (call.contains(key)) arguments = call[key];
  }
  if (!arguments && are_needed) return std::nullopt;
  if (!arguments || arguments->is_null()) return Json::object();
  if (arguments->is_string()) arguments = parse_call_json(arguments->get<std::string>());
  return arguments && arguments->is_object() ? arguments : std::nullopt;
}

/// False if it is no call.
bool add(const Json& value, const std::vector<std::string>& names, bool needs_arguments,
         std::vector<ToolCall>& calls) {
  const auto add_one = [&](const Json& one) { return add(one, names, needs_arguments, calls); };
  if (value.is_array()) return std::ranges::all_of(value, add_one);
  if (!value.is_object()) return false;
  if (const Json list = value.value("tool_calls", Json()); list.is_array()) return add_one(list);
  if (Json function = value.value("function", Json()); function.is_object()) {
    if (!function.contains("id")) function["id"] = text_at(value, "id");
    return add_one(function);
  }
  const std::string name = text_at(value, value.contains("name") ? "name" : "function");
  if (std::ranges::find(names, name) == names.end()) return false;
  const std::optional<Json> arguments = arguments_of(value, needs_arguments);
  if (!arguments) return false;
  calls.push_back({.id = text_at(value, "id"), .name = name, .arguments = arguments->dump()});
  return true;
}

}  // namespace

std::optional<std::vector<ToolCall>> to_calls(const Json& value,
                                              const std::vector<std::string>& names,
                                              bool needs_arguments) {
  std::vector<ToolCall> calls;
  if (!add(value, names, needs_arguments, calls) || calls.empty()) return std::nullopt;
  return calls;
}

}  // namespace predgen
