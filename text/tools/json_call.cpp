#include "text/tools/json_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"

namespace predgen {
namespace {

/// `text` without the two mistakes of models that have one meaning only: control characters in
/// strings, such as line breaks, and commas behind the last item.
std::string mended(std::string_view text) {
  std::string result;
  bool in_string = false, is_escaped = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    const size_t next = std::min(text.find_first_not_of(" \t\r\n", at + 1), text.size());
    const bool is_last_comma =
        !in_string && c == ',' && next < text.size() && (text[next] == '}' || text[next] == ']');
    if (in_string && is_control) {
      if (is_escaped) result.pop_back();
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (!is_last_comma) {
      result += c;
    }
    if (c == '"' && !is_escaped) in_string = !in_string;
    is_escaped = in_string && c == '\\' && !is_escaped;
  }
  return result;
}

}  // namespace

std::optional<Json> parse_call_json(std::string_view text) {
  for (const std::string& json : {std::string(text), mended(text)}) {
    try {
      return parse_json(json, "a call");
    } catch (const UserError&) {
    }
  }
  return std::nullopt;
}

std::optional<size_t> JsonEnd::find(std::string_view text) {
  for (; !end_ && at_ < text.size(); ++at_) {
    const char c = text[at_];
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (in_string_) {
      is_escaped_ = c == '\\';
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      end_ = at_ + 1;
    }
  }
  return end_;
}

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
