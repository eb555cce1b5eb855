#include "text/tools/tagged_call.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "text/streaming_text.h"
#include "text/tools/json_call.h"

namespace predgen {
namespace {

constexpr std::string_view kParameter = "<parameter=", kParameterEnd = "</parameter>";
using Types = std::set<std::string>;

std::string type_of(const Json& value) {
  return value.is_number() ? "number" : value.is_boolean() ? "boolean" : value.type_name();
}

/// The types of values that a schema speaks of; empty: it does not say.
Types types_of(const Json& schema) {
  Types types;
  if (!schema.is_object()) return types;
  const Json type = schema.value("type", Json());
  for (const Json& one : type.is_array() ? type : Json::array({type})) {
    if (!one.is_string()) continue;
    types.insert(one.get<std::string>() == "integer" ? "number" : one.get<std::string>());
  }
  for (const Json& one : schema.value("enum", Json::array())) types.insert(type_of(one));
  if (schema.contains("const")) types.insert(type_of(schema["const"]));
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    for (const Json& one : schema.value(key, Json::array())) types.merge(types_of(one));
  }
  return types;
}

/// What an object has there; null: it has nothing, or is none.
Json field(const Json& object, const std::string& key) {
  return object.is_object() ? object.value(key, Json()) : Json();
}

/// The types of a function's parameter.
Types parameter_types(const Json& tools, std::string_view function, const std::string& key) {
  for (const Json& tool : tools) {
    const Json one = field(tool, "function");
    if (field(one, "name") != Json(function)) continue;
    return types_of(field(field(field(one, "parameters"), "properties"), key));
  }
  return {};
}

Json value_of(std::string_view text, const Types& types) {
  const bool may_be_text = types.empty() || types.contains("string");
  if (types == Types{"string"}) return text;
  const std::string_view word = trimmed(text);
  std::optional<Json> value = word == "True"    ? Json(true)
                              : word == "False" ? Json(false)
                              : word == "None"  ? Json()
                                                : parse_call_json(word);
  if (!value || (may_be_text && value->is_string())) return text;
  const bool is_meant = types.empty() || types.contains(type_of(*value));
  return is_meant || !may_be_text ? *std::move(value) : Json(text);
}

/// Passes `begin` and the name behind it, up to a bracket; nullopt: it is not there.
std::optional<std::string_view> pass_name(std::string_view& text, std::string_view begin) {
  const size_t end = text.find('>');
  if (!text.starts_with(begin) || end == std::string_view::npos) return std::nullopt;
  const std::string_view name = trimmed(text.substr(begin.size(), end - begin.size()));
  text.remove_prefix(end + 1);
  return name;
}

}  // namespace

std::optional<Json> parse_xml_call(std::string_view text, const Json& tools) {
  text = trimmed(text);
  const auto name = pass_name(text, kXmlFunction);
  if (!name) return std::nullopt;
  Json arguments = Json::object();
  for (text = trimmed(text); text.starts_with(kParameter); text = trimmed(text)) {
    const auto key = pass_name(text, kParameter);
    const size_t end = text.find(kParameterEnd);
    if (!key || end == std::string_view::npos) return std::nullopt;
    std::string_view value = text.substr(0, end);
    if (value.starts_with('\n')) value.remove_prefix(1);
    if (value.ends_with('\n')) value.remove_suffix(1);
    const std::string argument(*key);
    arguments[argument] = value_of(value, parameter_types(tools, *name, argument));
    text.remove_prefix(end + kParameterEnd.size());
  }
  if (!text.empty()) return std::nullopt;
  return Json{{"name", *name}, {"arguments", std::move(arguments)}};
}

namespace {

constexpr std::string_view kQuote = "<|\"|>", kBrackets = "{}[],:";

/// The length of a text in JSON's quotes at the beginning of `text`.
size_t quoted_length(std::string_view text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// A word without quotes: a key, or a value that is no text.
std::string word_as_json(std::string_view word, bool is_key) {
  if (word == "None") return "null";
  return !is_key && Json::accept(word) ? std::string(word) : to_text(Json(word));
}

/// Arguments as JSON; what is malformed makes no JSON.
std::string as_json(std::string_view text) {
  std::string json;
  while (!text.empty()) {
    size_t length = 1;
    if (text.starts_with(kQuote)) {
      const size_t end = text.find(kQuote, kQuote.size());
      if (end == std::string_view::npos) return "";
      json += to_text(Json(text.substr(kQuote.size(), end - kQuote.size())));
      length = end + kQuote.size();
    } else if (text.front() == '"') {
      length = quoted_length(text);
      json += text.substr(0, length);
    } else if (kBrackets.find(text.front()) != std::string_view::npos) {
      json += text.front();
    } else if (!is_blank(text.substr(0, 1))) {
      length = std::min({text.size(), text.find_first_of(kBrackets), text.find(kQuote)});
      const bool is_key = length < text.size() && text[length] == ':';
      json += word_as_json(trimmed(text.substr(0, length)), is_key);
    }
    text.remove_prefix(length);
  }
  return json;
}

/// A call as Gemma 4 writes it, call:NAME{key:<|"|>text<|"|>,list:[1,true]}, as {"name",
/// "arguments"}. Texts have no escapes; JSON's own texts are taken, too. nullopt: it is no such
/// call.
std::optional<Json> parse_gemma_call(std::string_view text) {
  constexpr std::string_view kCall = "call:";
  text = trimmed(text);
  const size_t brace = text.find('{');
  if (!text.starts_with(kCall) || brace == std::string_view::npos) return std::nullopt;
  std::optional<Json> arguments = parse_call_json(as_json(text.substr(brace)));
  if (!arguments) return std::nullopt;
  const std::string_view name = trimmed(text.substr(kCall.size(), brace - kCall.size()));
  return Json{{"name", name}, {"arguments", *std::move(arguments)}};
}

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

/// Calls as LFM2 writes them, in Python: [lamp(on=True, name="x"), bell()], as a list of {"name",
/// "arguments"}. One may stand without brackets. Values are Python's texts, numbers, True, False,
/// None, lists and dictionaries, or JSON's; nothing is computed. A quote ends a text only where a
/// value may end, because LFM2.5's template escapes none. Values without a name go to the
/// function's parameters in their order, as `tools` has them (ToolSet::json). JSON instead of
/// Python is read, too. nullopt: it is no such list.
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

constexpr std::string_view kFunctionEnd = "</function>", kCallEnd = "</tool_call>",
                           kGemmaEnd = "<tool_call|>", kPythonEnd = "<|tool_call_end|>";

/// Whether the text ends in the value of a parameter.
bool ends_in_value(std::string_view text) {
  const size_t open = text.rfind("<parameter=");
  return open != std::string_view::npos &&
         text.find("</parameter>", open) == std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> TaggedCall::find_body(std::string_view text, std::string_view mark,
                                                      bool is_over) {
  const size_t end = text.find(mark, searched_);
  if (end != std::string_view::npos || is_over) return text.substr(0, end);
  searched_ = text.size() - std::min(text.size(), mark.size());
  return std::nullopt;
}

std::optional<TaggedCall::Found> TaggedCall::find_gemma(std::string_view text, bool is_over) {
  const auto body = find_body(text, kGemmaEnd, is_over);
  if (!body) return std::nullopt;
  return Found{.end = std::min(body->size() + kGemmaEnd.size(), text.size()),
               .call = parse_gemma_call(*body)};
}

std::optional<TaggedCall::Found> TaggedCall::find_python(std::string_view text, const Json& tools,
                                                         bool is_over) {
  const auto body = find_body(text, kPythonEnd, is_over);
  if (!body) return std::nullopt;
  return Found{.end = std::min(body->size() + kPythonEnd.size(), text.size()),
               .call = parse_python_calls(*body, tools)};
}

std::optional<TaggedCall::Found> TaggedCall::find_xml(std::string_view text, const Json& tools,
                                                      bool is_over) {
  const std::string_view begin = trimmed(text);
  if (!may_begin(begin, kXmlFunction)) {
    const size_t end = text.find(kCallEnd);
    if (!is_over && end == std::string_view::npos) return std::nullopt;
    return Found{.end = std::min(end, text.size())};
  }
  while (true) {
    const size_t end = std::min(text.find(kFunctionEnd, searched_), text.find(kCallEnd, searched_));
    if (end == std::string_view::npos) break;
    if (ends_in_value(text.substr(0, end))) {
      searched_ = end + 1;
      continue;
    }
    const bool is_of_function = text.substr(end).starts_with(kFunctionEnd);
    return Found{.end = end + (is_of_function ? kFunctionEnd.size() : 0),
                 .call = parse_xml_call(text.substr(0, end), tools)};
  }
  searched_ = std::max(searched_, text.size() - std::min(text.size(), kCallEnd.size()));
  return is_over ? std::optional(Found{.end = text.size()}) : std::nullopt;
}

}  // namespace predgen
