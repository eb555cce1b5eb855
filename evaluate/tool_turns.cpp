#include "evaluate/tool_turns.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "evaluate/json_rows.h"
#include "text/words.h"

namespace predgen::evaluate {
namespace {

std::string plain(const std::string& text) {
  static const std::set<std::string> articles{"a", "an", "my", "some", "the"};
  std::vector<std::string> words = list_bare_words(text);
  if (words.size() > 1 && articles.contains(words.front())) words.erase(words.begin());
  std::string all;
  for (const std::string& word : words) all = joined(all, " ", word);
  return all;
}

bool is_right_value(const Json& right, const Json& said) {
  if (right.is_array()) {
    return std::ranges::any_of(right, [&](const Json& one) { return is_right_value(one, said); });
  }
  if (right.is_string() && said.is_string()) {
    return plain(right.get<std::string>()) == plain(said.get<std::string>());
  }
  if (right.is_number() && said.is_number()) return right.get<double>() == said.get<double>();
  return right == said;
}

bool is_right_call(const RightCall& right, const ToolCall& call) {
  const Json said = parse_json(call.arguments, "the arguments of a call");
  return call.name == right.name && said.size() == right.arguments.size() &&
         std::ranges::all_of(right.arguments.items(), [&](const auto& argument) {
           return said.contains(argument.key()) &&
                  is_right_value(argument.value(), said[argument.key()]);
         });
}

bool says(const std::string& words, const Json& value) {
  if (value.is_array()) {
    return std::ranges::any_of(value, [&](const Json& one) { return says(words, one); });
  }
  const std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
  return words.find(plain(text)) != std::string::npos;
}

std::string group_of(const SimulatedTool& tool) {
  return fmt::format("{}, {} s", tool.has_effects() ? "acts" : "reads", tool.seconds);
}

RightCall read_call(const Json& call, const std::vector<SimulatedTool>& tools,
                    const std::string& where) {
  if (call.is_null()) return {.group = "no tool"};
  RightCall right{.name = json_get<std::string>(call, "name", where),
                  .arguments = json_get<Json>(call, "arguments", where)};
  const SimulatedTool* const tool = find_tool(tools, right.name);
  if (tool == nullptr) throw UserError("{}: there is no tool '{}'", where, right.name);
  right.group = group_of(*tool);
  if (!right.arguments.is_object()) throw UserError("{}: \"arguments\" must be an object", where);
  Json first = Json::object();  // of each list of values
  for (const auto& [name, value] : right.arguments.items()) {
    if (value.is_array() && value.empty()) throw UserError("{}: '{}' has no value", where, name);
    first[name] = value.is_array() ? value.front() : value;
  }
  const std::string fault = call_fault(tool->tool, first);
  if (!fault.empty()) throw UserError("{}: the call of '{}': {}", where, right.name, fault);
  return right;
}

bool is_of_half(const Json& row, Half half, const std::string& where) {
  if (!row.contains("half")) return half == Half::kAll;
  const auto name = json_get<std::string>(row, "half", where);
  if (name != "choose" && name != "report") {
    throw UserError("{}: \"half\" must be choose or report, not '{}'", where, name);
  }
  return half == Half::kAll || (half == Half::kChoose) == (name == "choose");
}

}  // namespace

TurnSet read_tool_turns(const TurnSetConfig& config) {
  TurnSet set;
  set.tools = read_simulated_tools(config.tools_file);
  for (SimulatedTool& tool : set.tools) {
    if (config.tool_seconds > 0) tool.seconds = config.tool_seconds;
  }
  for_each_row(config.file, [&](const Json& row, const std::string& where) {
    EvalTurn turn;
    turn.id = json_get<std::string>(row, "id", where);
    turn.prompt_text = trimmed(json_get<std::string>(row, "text", where));
    if (turn.prompt_text.empty()) throw UserError("{}: \"text\" is blank", where);
    if (row.contains("source")) turn.source = json_get<std::string>(row, "source", where);
    if (row.contains("call")) {
      turn.right_call = read_call(row["call"], set.tools, where);
      turn.category = turn.right_call->name.empty() ? "no tool" : turn.right_call->name;
    }
    const bool is_of_sources =
        config.sources.empty() || std::ranges::count(config.sources, turn.source) > 0;
    if (is_of_half(row, config.half, where) && is_of_sources) set.turns.push_back(std::move(turn));
  });
  return set;
}

bool is_right(const RightCall& right, const std::vector<ToolCall>& calls) {
  return right.name.empty() == calls.empty() &&
         std::ranges::all_of(calls,
                             [&](const ToolCall& call) { return is_right_call(right, call); });
}

bool has_right_name(const RightCall& right, const std::vector<ToolCall>& calls) {
  return right.name == (calls.empty() ? "" : calls.front().name);
}

double said_ahead(const RightCall& right, const std::vector<TurnEvent>& events) {
  const auto end = std::ranges::find(events, TurnEvent::Kind::kFinal, &TurnEvent::kind);
  PREDGEN_CHECK(end != events.end(), "a turn without an end");
  const std::string all = bare_words(end->text);
  Seconds since = end->time;
  for (auto event = end; event != events.begin();) {
    if ((--event)->kind != TurnEvent::Kind::kTranscript) continue;
    const std::string words = bare_words(event->text);
    const bool is_missing = std::ranges::any_of(right.arguments, [&](const Json& value) {
      return says(all, value) && !says(words, value);
    });
    if (is_missing) break;
    since = event->time;
  }
  return (end->time - since).count();
}

std::string call_text(const RightCall& right) {
  return right.name.empty() ? "none" : right.name + " " + to_text(right.arguments);
}

std::string call_text(const std::vector<ToolCall>& calls) {
  std::string text;
  for (const ToolCall& call : calls) text = joined(text, "; ", call.name + " " + call.arguments);
  return text.empty() ? "none" : text;
}

}  // namespace predgen::evaluate
