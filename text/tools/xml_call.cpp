#include "text/tools/xml_call.h"

#include <set>
#include <string>
#include <utility>

#include "core/text.h"
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

}  // namespace predgen
