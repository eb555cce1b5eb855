#include "evaluate/simulated_tools.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/error.h"

namespace predgen::evaluate {
namespace {

using act::ToolResult;

constexpr double kMostSeconds = 3600;

struct ValueType {
  const char* name;
  bool (*holds)(const Json& value);
};
constexpr std::array kTypes{
    ValueType{"string", [](const Json& value) { return value.is_string(); }},
    ValueType{"integer", [](const Json& value) { return value.is_number_integer(); }},
    ValueType{"number", [](const Json& value) { return value.is_number(); }},
    ValueType{"boolean", [](const Json& value) { return value.is_boolean(); }}};

const ValueType* type_of(const Json& schema, const std::string& where) {
  const auto name = json_get<std::string>(schema, "type", where);
  const auto* type =
      std::ranges::find_if(kTypes, [&](const ValueType& one) { return name == one.name; });
  return type == kTypes.end() ? nullptr : type;
}

/// UserError for keys of an object that are none of `known`.
void check_keys(const Json& object, const std::set<std::string>& known, const std::string& where) {
  if (!object.is_object()) throw UserError("{} must be an object", where);
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) throw UserError("{} has '{}': leave it out", where, key);
  }
}

/// UserError for what call_fault() does not look at.
void check_parameters(const Json& parameters, const std::string& where) {
  check_keys(parameters, {"type", "properties", "required"}, where + ": \"parameters\"");
  const auto properties = json_get<Json>(parameters, "properties", where);
  if (!properties.is_object()) throw UserError("{}: \"properties\" must be an object", where);
  for (const auto& [name, schema] : properties.items()) {
    const std::string part = fmt::format("{}: the parameter '{}'", where, name);
    check_keys(schema, {"type", "description", "enum"}, part);
    if (type_of(schema, part) == nullptr) {
      throw UserError("{} must be of the type string, integer, number or boolean", part);
    }
    if (schema.contains("enum") && !schema["enum"].is_array()) {
      throw UserError("{}: \"enum\" must be a list", part);
    }
  }
  for (const auto& name : json_get<std::vector<std::string>>(parameters, "required", where)) {
    if (properties.contains(name)) continue;
    throw UserError("{}: it requires '{}', which is no parameter", where, name);
  }
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : to_text(value);
}

/// What a tool says of these arguments.
std::string filled(std::string says, const Json& arguments) {
  for (const auto& [name, value] : arguments.items()) {
    const std::string place = "{" + name + "}";
    const size_t begin = says.find(place);
    if (begin != std::string::npos) says.replace(begin, place.size(), value_text(value));
  }
  return says;
}

class SimulatedCall : public act::BackgroundCall {
 public:
  SimulatedCall(Clock& clock, double seconds, ToolResult result, std::stop_token stop)
      : clock_(clock),
        end_(clock.now() + Seconds(seconds)),
        result_(std::move(result)),
        stop_(std::move(stop)) {}

  std::optional<ToolResult> result() override {
    if (clock_.now() >= end_) return result_;
    if (!stop_.stop_requested()) return std::nullopt;
    return ToolResult{.status = ToolResult::Status::kCancelled, .text = "Cancelled."};
  }
  std::optional<act::ToolProgress> take_progress() override { return std::nullopt; }
  bool wait(Seconds most) override {
    clock_.sleep_until(std::min(end_, clock_.now() + most));
    return result().has_value();
  }

 private:
  Clock& clock_;
  const Seconds end_;
  const ToolResult result_;
  const std::stop_token stop_;
};

std::vector<act::Tool> plain_tools(const std::vector<SimulatedTool>& tools) {
  std::vector<act::Tool> plain;
  for (const SimulatedTool& one : tools) plain.push_back(one.tool);
  return plain;
}

}  // namespace

std::vector<SimulatedTool> read_simulated_tools(const std::filesystem::path& file) {
  const Json list = json_get<Json>(read_json(file), "tools", file.string());
  if (!list.is_array() || list.empty()) {
    throw UserError("{}: \"tools\" must be a list of tools", file.string());
  }
  std::vector<SimulatedTool> tools;
  for (const Json& one : list) {
    std::string where = fmt::format("{}: tool {}", file.string(), tools.size() + 1);
    const auto name = json_get<std::string>(one, "name", where);
    where = fmt::format("{}: the tool '{}'", file.string(), name);
    if (name.empty() || act::plain_name(name) != name) {
      throw UserError("{}: a name has letters, digits, _ and -, at most 64", where);
    }
    if (find_tool(tools, name) != nullptr) throw UserError("{} is there twice", where);
    SimulatedTool& tool = tools.emplace_back();
    tool.tool = {.name = name,
                 .server = "simulated",
                 .own_name = name,
                 .description = json_get<std::string>(one, "description", where),
                 .parameters = json_get<Json>(one, "parameters", where),
                 .effects = act::parse_effects(json_get<std::string>(one, "effects", where),
                                               where + ": \"effects\"")};
    check_parameters(tool.tool.parameters, where);
    tool.says = json_get<std::string>(one, "says", where);
    tool.seconds = json_get<double>(one, "seconds", where);
    if (!(tool.seconds >= 0 && tool.seconds <= kMostSeconds)) {
      throw UserError("{}: \"seconds\" must be from 0 to {}", where, kMostSeconds);
    }
  }
  return tools;
}

ToolSet tool_set(const std::vector<SimulatedTool>& tools) {
  return act::tool_set(plain_tools(tools));
}

const SimulatedTool* find_tool(const std::vector<SimulatedTool>& tools, const std::string& name) {
  const auto found =
      std::ranges::find_if(tools, [&](const SimulatedTool& one) { return one.tool.name == name; });
  return found == tools.end() ? nullptr : &*found;
}

std::string call_fault(const act::Tool& tool, const Json& arguments) {
  const Json& properties = tool.parameters.at("properties");
  for (const Json& name : tool.parameters.at("required")) {
    if (!arguments.contains(name.get<std::string>())) {
      return fmt::format("'{}' is missing", name.get<std::string>());
    }
  }
  for (const auto& [name, value] : arguments.items()) {
    if (!properties.contains(name)) return fmt::format("there is no '{}'", name);
    const Json& schema = properties[name];
    if (!type_of(schema, tool.name)->holds(value)) {
      return fmt::format("'{}' must be of the type {}", name, value_text(schema["type"]));
    }
    if (schema.contains("enum") &&
        std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
      return fmt::format("'{}' must be one of {}", name, to_text(schema["enum"]));
    }
  }
  return "";
}

std::vector<act::Tool> SimulatedCalls::tools() const { return plain_tools(tools_); }

std::unique_ptr<act::BackgroundCall> SimulatedCalls::begin(const act::Tool& tool,
                                                           const std::string& arguments,
                                                           const std::stop_token& stop) {
  const SimulatedTool* const simulated = find_tool(tools_, tool.name);
  PREDGEN_CHECK(simulated, "there is no simulated tool '{}'", tool.name);
  begun_.push_back({simulated, clock_.now()});
  const Json given = parse_json(arguments, "the arguments of a call");
  const std::string fault = call_fault(tool, given);
  ToolResult result{.text = filled(simulated->says, given)};
  if (!fault.empty()) {
    result = {.status = ToolResult::Status::kFailed, .text = "Error: " + fault + "."};
  }
  return std::make_unique<SimulatedCall>(clock_, simulated->seconds, std::move(result), stop);
}

}  // namespace predgen::evaluate
