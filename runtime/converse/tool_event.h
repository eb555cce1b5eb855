#pragma once

#include <string>
#include <vector>

#include "act/tool_runner.h"
#include "core/clock.h"
#include "runtime/converse/turn.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// What happens to a call. What it refers to is valid until the call returns.
struct ToolEvent {
  /// kDrafted: a draft has it, as those know who show drafts. kRepeated: it was answered before in
  /// this turn, and is not made again.
  enum class Kind {
    kDrafted,
    kRunning,
    kProgress,
    kEnded,
    kFiller,
    kAsked,
    kKept,
    kDiscarded,
    kRepeated
  };

  Kind kind = Kind::kRunning;
  const ToolCall& call;
  act::ToolResult::Status status{};  // kEnded, kKept
  Seconds elapsed{0};                // since it began; once it has ended, to its end
  Seconds ahead{0};                  // how long it had been begun when the answer needed it
  bool is_early = false;             // while the user speaks, or of a call that was begun then
  act::ToolProgress progress{};      // kProgress
  std::string text{};                // kFiller, kAsked: what the assistant says
};

/// Calls of a draft for a person, such as "[lamp {"room":"red"}]".
std::string drafted_calls(const std::vector<DraftedCall>& calls);

/// What became of the call, in a word or two: "running", "kept", "timed out".
std::string state_of(const ToolEvent& event);

/// One line for a person, without anything that a tool has said.
std::string event_line(const ToolEvent& event);

}  // namespace predgen
