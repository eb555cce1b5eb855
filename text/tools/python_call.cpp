#include "text/tools/python_call.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "text/tools/call_json.h"

namespace predgen {
namespace {

constexpr std::string_view kQuotes = "\"'", kValueEnds = ",)]}:";

bool begins_with_one_of(std::string_view text, std::string_view characters) {
  return !text.empty() && characters.find(text.front()) != std::string_view::npos;
}

/// The escape at `at` of a text, which its last character becomes, as JSON has it.
std::string escape_as_json(std::string_view text, size_t& at) {
  const char c = ++at < text.size() ? text[at] : '\\';
  if (c == '\'') return "'";
  if (c == '\n') return "";  // the line goes on
  if (c == '0') return "\\u0000";
  if (c == 'x') return "\\u00";
  const bool is_json = std::string_view("\"\\/bfnrtu").find(c) != std::string_view::npos;
  return (is_json ? "\\" : "\\\\") + std::string(1, c);
}

/// Takes a text in quotes from the front; nullopt: it does not end.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string json = "\"";
  for (size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == text.front()) {
      const std::string_view rest = trimmed(text.substr(at + 1));
      if (rest.empty() || begins_with_one_of(rest, kValueEnds)) {
        text.remove_prefix(at + 1);
        return json + '"';
      }
    }
    json += c == '\\' ? escape_as_json(text, at) : c == '"' ? "\\\"" : std::string(1, c);
  }
  return std::nullopt;
}

std::string word_as_json(std::string_view word) {
  return word == "True"    ? "true"
         : word == "False" ? "false"
         : word == "None"  ? "null"
                           : std::string(word);
}

/// Takes a value from the front, up to the comma or bracket behind it.
std::optional<Json> take_value(std::string_view& text) {
  std::string json;
  for (int depth = 0; !text.empty();) {
    if (begins_with_one_of(text, kQuotes)) {
      const auto quoted = take_quoted(text);
      if (!quoted) return std::nullopt;
      json += *quoted;
      continue;
    }
    const char c = text.front();
    const bool is_end = c == ')' || (depth == 0 && (c == ',' || c == ']' || c == '}'));
    if (is_end) break;
    size_t length = 1;
    if (std::string_view("[]{},: \t\r\n").find(c) == std::string_view::npos) {
      length = std::min(text.find_first_of("[](){},:\"' \t\r\n", 1), text.size());
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    json += word_as_json(text.substr(0, length));
    text.remove_prefix(length);
  }
  return parse_call_json(json);
}

/// The names of a function's parameters.
std::vector<std::string> parameters_of(const Json& tools, std::string_view function) {
  std::vector<std::string> names;
  for (const Json& tool : tools) {
    const Json one = tool.value("function", Json());
    if (!one.is_object() || one.value("name", Json()) != Json(function)) continue;
    const Json parameters = one.value("parameters", Json());
    if (!parameters.is_object() || !parameters.contains("properties")) continue;
    for (const auto& [name, schema] : parameters["properties"].items()) names.push_back(name);
  }
  return names;
}

/// Passes white space and `mark`; false: it is not there.
bool pass(std::string_view& text, char mark) {
  text = trimmed(text);
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(1);
  return true;
}

/// Takes `name=` from the front; empty: a value is there.
std::string take_keyword(std::string_view& text) {
  const size_t end = text.find_first_of("=,()[]{}<>!\"'");
  if (end == std::string_view::npos || text[end] != '=') return "";
  std::string name(trimmed(text.substr(0, end)));
  text.remove_prefix(end + 1);
  return name;
}

/// Takes a call from the front.
std::optional<Json> take_call(std::string_view& text, const Json& tools) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view name = trimmed(text.substr(0, open));
  text.remove_prefix(open + 1);
  const std::vector<std::string> parameters = parameters_of(tools, name);
  Json arguments = Json::object();
  for (size_t place = 0; !pass(text, ')'); ++place) {
    std::string key = take_keyword(text);
    if (key.empty() && place < parameters.size()) key = parameters[place];
    text = trimmed(text);
    std::optional<Json> value = take_value(text);
    if (key.empty() || !value) return std::nullopt;
    arguments[key] = *std::move(value);
    if (!pass(text, ',') && !text.starts_with(')')) return std::nullopt;
  }
  return Json{{"name", name}, {"arguments", std::move(arguments)}};
}

}  // namespace

std::optional<Json> parse_python_calls(std::string_view text, const Json& tools) {
  text = trimmed(text);
  std::string_view list = text;
  const bool is_list = pass(list, '[');
  if (trimmed(list).starts_with('{')) return parse_call_json(text);
  Json calls = Json::array();
  do {
    std::optional<Json> call = take_call(list, tools);
    if (!call) return std::nullopt;
    calls.push_back(*std::move(call));
  } while (pass(list, ',') && !trimmed(list).starts_with(']'));
  const bool is_whole = !is_list || pass(list, ']');
  return is_whole && trimmed(list).empty() ? std::optional(std::move(calls)) : std::nullopt;
}

}  // namespace predgen
