#include "act/tool.h"

#include <algorithm>
#include <array>

#include "core/edit_distance.h"
#include "core/error.h"
#include "text/tools/tool_call.h"

namespace predgen::act {
namespace {

constexpr size_t kMaxName = 64;
const std::array<std::string, 4> kEffects{"read", "idempotent", "write", "destructive"};

Json sorted(const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& one : value) list.push_back(sorted(one));
    return list;
  }
  if (!value.is_object()) return value;
  std::vector<std::string> keys;
  for (const auto& [key, ignored] : value.items()) keys.push_back(key);
  std::ranges::sort(keys);
  Json object = Json::object();
  for (const std::string& key : keys) object[key] = sorted(value[key]);
  return object;
}

}  // namespace

std::string to_string(Effects effects) { return kEffects.at(static_cast<size_t>(effects)); }

Effects parse_effects(const std::string& name, const std::string& where) {
  const auto found = std::ranges::find(kEffects, name);
  if (found == kEffects.end()) {
    throw UserError("{} is '{}': {}", where, name,
                    suggest(name, {kEffects.begin(), kEffects.end()}));
  }
  return static_cast<Effects>(found - kEffects.begin());
}

ToolSet tool_set(const std::vector<Tool>& tools) {
  ToolSet set;
  Json list = Json::array();
  for (const Tool& tool : tools) {
    list.push_back(shown_tool(tool.name, tool.description, tool.parameters));
    set.names.push_back(tool.name);
  }
  if (!tools.empty()) set.json = to_text(list);
  return set;
}

std::vector<Tool> without(std::vector<Tool> tools, const ToolSet& others) {
  std::erase_if(tools, [&](const Tool& tool) {
    return std::ranges::find(others.names, tool.name) != others.names.end();
  });
  return tools;
}

ToolSet together(ToolSet first, const ToolSet& more) {
  if (first.empty() || more.empty()) return first.empty() ? more : first;
  Json list = Json::parse(first.json);
  for (const Json& tool : Json::parse(more.json)) list.push_back(tool);
  first.json = to_text(list);
  first.names.insert(first.names.end(), more.names.begin(), more.names.end());
  first.strict.insert(first.strict.end(), more.strict.begin(), more.strict.end());
  return first;
}

std::string canonical_arguments(const std::string& arguments) {
  return to_text(sorted(parse_json(arguments, "the arguments of a call")));
}

std::string plain_name(std::string_view name) {
  std::string plain(name.substr(0, kMaxName));
  for (char& c : plain) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
    if (!is_plain) c = '_';
  }
  return plain;
}

}  // namespace predgen::act
