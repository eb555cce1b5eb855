#include "serve/openai/home_names.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/json.h"

namespace predgen::serve {
namespace {

constexpr size_t kMostNames = 1024;
constexpr int64_t kMostPlaces = int64_t{1} << 17;  // for names, in all functions
constexpr std::string_view kItem = "- ", kIndent = "  ", kContinued = "    ";

/// A scalar of YAML, on one line, as a text.
std::string unquoted(const std::string& scalar) {
  const auto is_in = [&](char quote) {
    return scalar.size() > 1 && scalar.front() == quote && scalar.back() == quote;
  };
  if (is_in('"')) {
    try {
      return parse_json(scalar, "a name").get<std::string>();
    } catch (const UserError&) {  // escapes that JSON does not have
      return scalar.substr(1, scalar.size() - 2);
    }
  }
  if (!is_in('\'')) return scalar;
  std::string text = scalar.substr(1, scalar.size() - 2);
  for (size_t at = text.find("''"); at != std::string::npos; at = text.find("''", at + 1)) {
    text.erase(at, 1);
  }
  return text;
}

/// The texts between commas.
void add_names(const std::string& scalar, std::vector<std::string>& names) {
  constexpr std::string_view kComma = ", ";
  const std::string text = unquoted(scalar);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(kComma, begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (!name.empty() && std::ranges::find(names, name) == names.end()) {
      if (names.size() >= kMostNames) {
        throw UserError("the system message lists more than {} names of a home", kMostNames);
      }
      names.push_back(name);
    }
    begin = end + kComma.size();
  }
}

std::string_view line_at(std::string_view text, size_t begin) {
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

/// Whether a function is one of Home Assistant's. Several APIs together put their own name in
/// front.
bool is_of_home(std::string_view function) {
  if (const size_t api = function.rfind("__"); api != std::string_view::npos) {
    function.remove_prefix(api + 2);
  }
  return function == "GetLiveContext" || function.starts_with("Hass");
}

/// Only `names` where a schema says a text, or a list of texts.
void restrict(Json& schema, const std::vector<std::string>& names, int64_t& left) {
  if (names.empty() || !schema.is_object() || schema.contains("enum")) return;
  if (schema.value("type", Json()) == "string") {
    left -= std::ssize(names);
    if (left < 0) throw UserError("the functions have too many places for names of the home");
    schema["enum"] = names;
  }
  if (schema.contains("items")) restrict(schema["items"], names, left);
  if (!schema.value("anyOf", Json()).is_array()) return;
  for (Json& one : schema["anyOf"]) restrict(one, names, left);
}

}  // namespace

HomeNames read_home_names(const std::string& prompt) {
  HomeNames names;
  for (size_t at = 0; at < prompt.size(); at = prompt.find('\n', at)) {
    if (prompt[at] == '\n') ++at;
    std::string_view line = line_at(prompt, at);
    if (!line.starts_with(kItem) && !line.starts_with(kIndent)) continue;
    line.remove_prefix(kItem.size());
    for (auto& [key, list] :
         {std::pair<std::string_view, std::vector<std::string>*>{"names: ", &names.devices},
          {"domain: ", &names.domains},
          {"areas: ", &names.areas}}) {
      if (!line.starts_with(key)) continue;
      std::string scalar(line.substr(key.size()));
      // A long one goes on below.
      for (size_t next = prompt.find('\n', at); next != std::string::npos;
           next = prompt.find('\n', next + 1)) {
        const std::string_view more = line_at(prompt, next + 1);
        if (!more.starts_with(kContinued)) break;
        scalar += " ";
        scalar += more.substr(std::min(more.find_first_not_of(' '), more.size()));
      }
      add_names(scalar, *list);
    }
  }
  return names;
}

ToolSet with_home_names(ToolSet tools, const std::vector<Message>& messages) {
  if (tools.empty()) return tools;
  std::string prompt;
  for (const Message& message : messages) {
    if (message.role == "system") prompt += message.content + "\n";
  }
  const HomeNames names = read_home_names(prompt);
  if (names.devices.empty()) return tools;
  Json list = Json::parse(tools.json);
  int64_t left = kMostPlaces;
  for (Json& tool : list) {
    Json& function = tool["function"];
    Json& parameters = function["parameters"];
    const std::string name = function["name"].get<std::string>();
    if (!is_of_home(name)) continue;
    if (!parameters.is_object() || !parameters.value("properties", Json()).is_object()) continue;
    parameters["additionalProperties"] = false;
    if (name.find("Timer") != std::string::npos) continue;  // they have names of their own
    Json& properties = parameters["properties"];
    for (auto& [key, known] :
         {std::pair<const char*, const std::vector<std::string>*>{"name", &names.devices},
          {"area", &names.areas},
          {"domain", &names.domains}}) {
      if (properties.contains(key)) restrict(properties[key], *known, left);
    }
  }
  tools.json = list.dump();
  return tools;
}

}  // namespace predgen::serve
