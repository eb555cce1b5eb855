#pragma once

#include "core/json.h"
#include "runtime/converse/tool_event.h"

namespace predgen::cli {

/// Adds a call of which it is known what became of it, or that waits for the user's yes, to a list
/// of a turn's calls: what was called, and how it went, but nothing that a tool has said.
/// "ahead_seconds": how long it had been begun when the answer needed it, or until it was
/// discarded.
inline void add_call(Json& calls, const ToolEvent& event) {
  using Kind = ToolEvent::Kind;
  const bool has_ended =
      event.kind == Kind::kKept || (event.kind == Kind::kEnded && !event.is_early);
  const bool has_state =
      event.kind == Kind::kDiscarded || event.kind == Kind::kAsked || event.kind == Kind::kRepeated;
  if (!has_ended && !has_state) return;
  calls.push_back({{"name", event.call.name},
                   {"arguments", event.call.arguments},
                   {"status", has_state ? state_of(event) : act::to_string(event.status)},
                   {"seconds", event.elapsed.count()},
                   {"ahead_seconds", event.ahead.count()}});
}

}  // namespace predgen::cli
