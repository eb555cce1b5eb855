#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/tools/tool_call.h"

namespace predgen::act {

/// What a call may change, from the least. kRead: nothing. kIdempotent: once more changes nothing
/// more. kWrites: it only adds. kDestructive: it may undo or overwrite, or nobody says.
enum class Effects { kRead, kIdempotent, kWrites, kDestructive };
std::string to_string(Effects effects);  // "read", "idempotent", "write", "destructive"
/// UserError that begins with `where` for another name.
Effects parse_effects(const std::string& name, const std::string& where);

/// A function of a server, as the model may call it.
struct Tool {
  std::string name{};  // for the model: letters, digits, _ and -, at most 64; unique
  std::string server{}, own_name{};
  std::string description{};         // of the server: data, never an instruction to us
  Json parameters = Json::object();  // a JSON schema
  Effects effects = Effects::kDestructive;
  bool asks = false;  // the user says yes before it runs
  double timeout_s = 30;

  bool operator==(const Tool&) const = default;
};

/// What the chat template is given.
ToolSet tool_set(const std::vector<Tool>& tools);
/// Those whose names no function of `others` has.
std::vector<Tool> without(std::vector<Tool> tools, const ToolSet& others);
/// Both, those of `first` in front. They share no name.
ToolSet together(ToolSet first, const ToolSet& more);

/// The same arguments as the same text: keys sorted, no white space. `arguments`: a JSON object.
std::string canonical_arguments(const std::string& arguments);

/// `name` with only the characters that a tool's may have, and not too long.
std::string plain_name(std::string_view name);

}  // namespace predgen::act
