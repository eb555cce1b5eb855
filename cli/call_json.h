#pragma once

#include "core/json.h"
#include "runtime/converse/tool_event.h"

namespace predgen::cli {

/// Adds a call that has ended, or that waits for the user's yes, to a list of a turn's calls: what
/// was called, and how it went, but nothing that a tool has said.
inline void add_call(Json& calls, const ToolEvent& event) {
  const bool has_ended = event.kind == ToolEvent::Kind::kEnded;
  if (!has_ended && event.kind != ToolEvent::Kind::kAsked) return;
  calls.push_back({{"name", event.call.name},
                   {"arguments", event.call.arguments},
                   {"status", has_ended ? act::to_string(event.status) : "asked"},
                   {"seconds", event.elapsed.count()}});
}

}  // namespace predgen::cli
