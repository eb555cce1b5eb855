#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json.h"
#include "runtime/converse/tool_event.h"
#include "runtime/converse/turn.h"

namespace predgen::cli {

/// A line about how long the user waited, and how useful the draft was.
std::string turn_summary(const TurnMetrics& metrics);

/// Why the answer is incomplete, and what changes that; nullopt: it is complete.
std::optional<std::string> cut_message(const TurnResult& result);

/// The message when the context has no room for the oldest rounds.
std::string dropped_rounds_message(int64_t num_rounds);

/// Adds a call of which it is known what became of it, or that waits for the user's yes, to a list
/// of a turn's calls: what was called, and how it went, but nothing that a tool has said.
/// "ahead_seconds": how long it had been begun when the answer needed it, or until it was
/// discarded.
inline void add_call(Json& calls, const ToolEvent& event) {
  using Kind = ToolEvent::Kind;
  const Kind kind = event.kind;
  const bool is_kept = kind == Kind::kKept, has_ended = kind == Kind::kEnded && !event.is_early;
  const bool is_over = is_kept || has_ended || kind == Kind::kDiscarded || kind == Kind::kRepeated;
  if (!is_over && kind != Kind::kAsked) return;
  calls.push_back({{"name", event.call.name},
                   {"arguments", event.call.arguments},
                   {"status", is_kept ? act::to_string(event.status) : state_of(event)},
                   {"seconds", event.elapsed.count()},
                   {"ahead_seconds", event.ahead.count()}});
}

}  // namespace predgen::cli
