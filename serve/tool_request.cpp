#include "serve/tool_request.h"

#include <algorithm>

#include "core/error.h"
#include "core/json.h"

namespace predgen::serve {
namespace {

constexpr size_t kMaxTools = 128, kMaxName = 64;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  });
}

/// What the template sees of a function. Strict adherence to its schema cannot be promised.
Json read_function(RequestFields& fields) {
  const std::string name = fields.text("name", /*required=*/true).value();
  if (!is_name(name)) {
    RequestFields::fail_value(fields.full_name("name"),
                              "must be at most 64 letters, digits, underscores and dashes");
  }
  Json function{{"name", name}};
  if (const auto description = fields.text("description")) function["description"] = *description;
  const Json& parameters = fields.any("parameters");
  if (!parameters.is_null() && !parameters.is_object()) {
    RequestFields::fail_type(fields.full_name("parameters"), "a JSON schema", parameters);
  }
  function["parameters"] =
      parameters.is_null() ? Json{{"type", "object"}, {"properties", Json::object()}} : parameters;
  fields.ignore("strict");
  return function;
}

Json read_tool(const Json& tool, ToolShape shape, const std::string& where) {
  RequestFields fields(tool, where);
  fields.any("type", /*required=*/true);
  fields.expect_neutral("type", {"function"});
  Json function;
  if (shape == ToolShape::kNested) {
    fields.any("function", /*required=*/true);
    RequestFields inner = fields.object("function");
    function = read_function(inner);
    inner.finish();
  } else {
    function = read_function(fields);
  }
  fields.finish();
  return {{"type", "function"}, {"function", std::move(function)}};
}

}  // namespace

std::optional<ToolSet> read_tools(RequestFields& fields, ToolShape shape) {
  const Json& list = fields.any("tools");
  if (list.is_null()) return std::nullopt;
  if (!list.is_array()) RequestFields::fail_type(fields.full_name("tools"), "a list", list);
  if (list.size() > kMaxTools) {
    RequestFields::fail_value(fields.full_name("tools"),
                              fmt::format("has more than {}", kMaxTools));
  }
  ToolSet tools;
  Json shown = Json::array();
  for (const Json& tool : list) {
    const std::string where = fmt::format("{}[{}]", fields.full_name("tools"), shown.size());
    shown.push_back(read_tool(tool, shape, where));
    tools.names.push_back(shown.back()["function"]["name"].get<std::string>());
  }
  if (!tools.empty()) tools.json = shown.dump();
  return tools;
}

std::optional<bool> read_tool_choice(RequestFields& fields) {
  const Json& choice = fields.any("tool_choice");
  if (choice.is_null()) return std::nullopt;
  if (choice == "auto" || choice == "none") return choice == "auto";
  RequestFields::fail_unsupported(
      fields.full_name("tool_choice"),
      "is supported as auto and none only: no answer can be made to have a call");
}

Json tools_json(const ToolSet& tools, ToolShape shape) {
  if (tools.empty()) return Json::array();
  Json list = Json::parse(tools.json);
  if (shape == ToolShape::kNested) return list;
  for (Json& tool : list) {
    Json flat{{"type", "function"}};
    flat.update(tool["function"]);
    tool = std::move(flat);
  }
  return list;
}

std::string read_arguments(const std::string& text, const std::string& where) {
  if (text.empty()) return "{}";
  try {
    if (const Json arguments = parse_client_json(text, where); arguments.is_object()) {
      return arguments.dump();
    }
  } catch (const UserError&) {
  }
  RequestFields::fail_value(where, "must be a JSON object, as a string");
}

std::vector<ToolCall> read_tool_calls(const Json& list, const std::string& where) {
  std::vector<ToolCall> calls;
  if (list.is_null()) return calls;
  if (!list.is_array()) RequestFields::fail_type(where, "a list", list);
  for (const Json& one : list) {
    RequestFields fields(one, fmt::format("{}[{}]", where, calls.size()));
    fields.expect_neutral("type", {"function"});
    fields.any("function", /*required=*/true);
    RequestFields function = fields.object("function");
    const std::string arguments = function.text("arguments").value_or("");
    calls.push_back({.id = fields.text("id", /*required=*/true).value(),
                     .name = function.text("name", /*required=*/true).value(),
                     .arguments = read_arguments(arguments, function.full_name("arguments"))});
  }
  return calls;
}

}  // namespace predgen::serve
