#include "text/template/template_tools.h"

#include <algorithm>

#include "core/error.h"
#include "text/tools/tool_call_parser.h"

namespace predgen {

Json call_json(const std::string& id, const std::string& name, const Json& arguments) {
  return {
      {"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

std::string nine_characters(const std::string& id) {
  constexpr size_t kLength = 9;
  std::string letters;
  for (const char c : id) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_plain) letters += c;
  }
  letters.insert(0, kLength - std::min(kLength, letters.size()), '0');
  return letters.substr(letters.size() - kLength);
}

Json with_texts(const Json& value, const std::function<std::string(const std::string&)>& change) {
  if (value.is_string()) return change(value.get<std::string>());
  Json result = value;
  if (value.is_array()) {
    for (Json& item : result) item = with_texts(item, change);
  } else if (value.is_object()) {
    result = Json::object();
    for (const auto& [key, item] : value.items()) result[change(key)] = with_texts(item, change);
  }
  return result;
}

ToolFormat find_tool_format(const RunTemplate& run) {
  const std::string name = "probe";
  const Json arguments{{"x", "y"}};
  const Json parameters{{"type", "object"}, {"properties", {{"x", {{"type", "string"}}}}}};
  const Json function{{"name", name}, {"description", "z"}, {"parameters", parameters}};
  const Json tools = Json::array({{{"type", "function"}, {"function", function}}});
  const Json user{{"role", "user"}, {"content", "x"}};
  const Json calls = Json::array({call_json("abcdefghi", name, arguments)});
  const Json assistant{{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}};
  std::string prompt, whole;
  try {
    prompt = run(Json::array({user}), true, tools);
    whole = run(Json::array({user, assistant}), false, tools);
  } catch (const UserError&) {
    return ToolFormat::kNone;
  }
  if (prompt.find(name) == std::string::npos) return ToolFormat::kNone;
  const std::string answer = whole.starts_with(prompt) ? whole.substr(prompt.size()) : whole;
  for (const auto format : {ToolFormat::kHermes, ToolFormat::kMistral, ToolFormat::kLlama}) {
    ToolCallParser parser(format, {name});
    const std::vector<ToolCallParser::Part> parts = parser.push(answer);
    const bool has_call = std::ranges::any_of(parts, [&](const ToolCallParser::Part& part) {
      return part.call.name == name && part.call.arguments == arguments.dump();
    });
    if (has_call) return format;
  }
  return ToolFormat::kNone;
}

}  // namespace predgen
