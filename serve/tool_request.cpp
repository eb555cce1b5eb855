#include "serve/tool_request.h"

#include <algorithm>

#include "core/error.h"
#include "core/json.h"
#include "text/tools/tool_call.h"

namespace predgen::serve {
namespace {

constexpr size_t kMaxTools = 128, kMaxName = 64;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  });
}

Json read_function(RequestFields& fields) {
  const std::string name = fields.text("name", /*required=*/true).value();
  if (!is_name(name)) {
    RequestFields::fail_value(fields.full_name("name"),
                              "must be at most 64 letters, digits, underscores and dashes");
  }
  const std::string description = fields.text("description").value_or("");
  const Json& parameters = fields.any("parameters");
  if (!parameters.is_null() && !parameters.is_object()) {
    RequestFields::fail_type(fields.full_name("parameters"), "a JSON schema", parameters);
  }
  return shown_tool(name, description, parameters);
}

Json read_tool(const Json& tool, ToolShape shape, const std::string& where, bool& is_strict) {
  RequestFields fields(tool, where);
  fields.any("type", /*required=*/true);
  fields.expect_neutral("type", {"function"});
  Json shown;
  if (shape == ToolShape::kNested) {
    fields.any("function", /*required=*/true);
    RequestFields inner = fields.object("function");
    shown = read_function(inner);
    is_strict = inner.flag("strict");
    inner.finish();
  } else {
    shown = read_function(fields);
    is_strict = fields.flag("strict");
  }
  fields.finish();
  return shown;
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
    bool is_strict = false;
    shown.push_back(read_tool(tool, shape, where, is_strict));
    tools.names.push_back(shown.back()["function"]["name"].get<std::string>());
    if (is_strict) tools.strict.push_back(tools.names.back());
  }
  if (!tools.empty()) tools.json = shown.dump();
  return tools;
}

std::optional<ToolChoice> read_tool_choice(RequestFields& fields) {
  using Kind = ToolChoice::Kind;
  const Json& choice = fields.any("tool_choice");
  if (choice.is_null()) return std::nullopt;
  if (choice == "auto" || choice == "none") {
    return ToolChoice{choice == "auto" ? Kind::kAuto : Kind::kNone};
  }
  if (choice == "required" || choice == "any") return ToolChoice{Kind::kRequired};
  const bool is_function = choice.is_object() && choice.value("type", Json()) == "function";
  const Json& named = is_function && choice.contains("function") ? choice["function"] : choice;
  if (is_function && named.is_object() && named.contains("name") && named["name"].is_string()) {
    return ToolChoice{Kind::kRequired, named["name"].get<std::string>()};
  }
  RequestFields::fail_unsupported(
      fields.full_name("tool_choice"),
      "is supported as auto, none, required, or a function with its name");
}

Json tool_choice_json(const ToolChoice& choice, ToolShape shape) {
  if (choice.kind == ToolChoice::Kind::kAuto) return "auto";
  if (choice.kind == ToolChoice::Kind::kNone) return "none";
  if (choice.only.empty()) return "required";
  const Json name{{"name", choice.only}};
  if (shape == ToolShape::kNested) return {{"type", "function"}, {"function", name}};
  return {{"type", "function"}, {"name", choice.only}};
}

void check_tool_choice(const ToolChoice& choice, const ToolSet& tools, const std::string& name) {
  if (choice.kind != ToolChoice::Kind::kRequired) return;
  const bool is_known = choice.only.empty() || std::ranges::count(tools.names, choice.only) > 0;
  if (!tools.empty() && is_known) return;
  RequestFields::fail_unsupported(name, "asks for a call of a function that 'tools' lack");
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

bool has_call(const std::vector<Message>& messages, const std::string& id) {
  return std::ranges::any_of(messages, [&](const Message& message) {
    return std::ranges::find(message.tool_calls, id, &ToolCall::id) != message.tool_calls.end();
  });
}

}  // namespace predgen::serve
