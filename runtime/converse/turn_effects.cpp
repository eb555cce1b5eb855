#include "runtime/converse/turn_effects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"

namespace predgen {
namespace {

constexpr size_t kSpokenBytes = 240;

std::string spoken_name(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string listed(const char* what, const std::vector<std::string>& calls) {
  if (calls.empty()) return {};
  return fmt::format(" {}: {}.", what,
                     shortened(fmt::format("{}", fmt::join(calls, "; ")), kSpokenBytes));
}

}  // namespace

std::string TurnEffects::spoken_call(const ToolCall& call) {
  std::string details;
  const Json arguments = parse_json(call.arguments, "the arguments of a call");
  for (const auto& [name, value] : arguments.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
    details = joined(details, ", ", spoken_name(name) + " " + shortened(text, 80));
  }
  if (!details.empty()) details = ", with " + shortened(details, kSpokenBytes);
  return spoken_name(call.name) + details;
}

void TurnEffects::add(const ToolCall& call, const act::Tool& tool, const act::ToolResult& result) {
  using Status = act::ToolResult::Status;
  if (tool.effects == act::Effects::kRead) return;
  const bool is_done = result.status == Status::kDone;
  (is_done ? done_ : result.may_have_happened ? unknown_ : not_done_).push_back(spoken_call(call));
  if (result.status == Status::kUnavailable) lost_ = tool.server;
}

std::string TurnEffects::failure() const {
  if (not_done_.empty() && unknown_.empty()) return {};
  const bool is_all = done_.empty() && (not_done_.empty() || unknown_.empty());
  if (!is_all) {
    return "Sorry, not all of that worked." + listed("Done", done_) +
           listed("Not done", not_done_) + listed("I do not know about this", unknown_);
  }
  if (!unknown_.empty()) return "Sorry, I got no answer, so I do not know whether that was done.";
  if (lost_.empty()) return "Sorry, that did not work.";
  return fmt::format("Sorry, that was not done: there is no connection to {}.", spoken_name(lost_));
}

}  // namespace predgen
