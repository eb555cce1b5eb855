#pragma once

#include <string>

#include "act/tool_runner.h"
#include "core/clock.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// What happens to a call. What it refers to is valid until the call returns.
struct ToolEvent {
  enum class Kind { kRunning, kProgress, kEnded, kFiller, kAsked };

  Kind kind = Kind::kRunning;
  const ToolCall& call;
  act::ToolResult::Status status{};  // kEnded
  Seconds elapsed{0};                // since it began
  act::ToolProgress progress{};      // kProgress
  std::string text{};                // kFiller, kAsked: what the assistant says
};

/// One line for a person, without anything that a tool has said.
std::string event_line(const ToolEvent& event);

}  // namespace predgen
