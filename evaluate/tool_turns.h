#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "evaluate/eval_turn.h"
#include "evaluate/simulated_tools.h"
#include "evaluate/turn_sets.h"
#include "runtime/converse/session.h"
#include "runtime/converse/tool_rounds.h"
#include "runtime/converse/turn.h"
#include "text/tools/tool_call.h"

namespace predgen::evaluate {

/// Requests of users who want something done: rows {"id", "text"}, perhaps with "call", the right
/// one ({"name", "arguments"}; null: none; each argument its value, or a list of those that are
/// right), "half" ("choose" or "report") and "source"; and the tools that the model may call.
TurnSet read_tool_turns(const TurnSetConfig& config);

/// Whether these calls are what the request wants: that one, however often, and no other. Texts
/// are equal without case, punctuation, and an article in front.
bool is_right(const RightCall& right, const std::vector<ToolCall>& calls);
/// Whether the first call is of the right tool.
bool has_right_name(const RightCall& right, const std::vector<ToolCall>& calls);

/// How many seconds before the final transcript the user had said all that the call needs, and has
/// left it so: the soonest at which anybody can know it. `events`: of the turn. Values that are
/// said in other words do not count.
double said_ahead(const RightCall& right, const std::vector<TurnEvent>& events);

/// For a person: get_time {"city": "Tokyo"}; "none".
std::string call_text(const RightCall& right);
std::string call_text(const std::vector<ToolCall>& calls);

/// What became of the calls of one method's turn.
struct ToolOutcome {
  std::optional<bool> is_right{}, is_right_tool{};  // of these calls; nullopt: the set does not say
  std::vector<ToolCall> calls{};                    // that were made, in order
  int64_t num_malformed = 0;  // they do not fit their tools, or are text that looks like a call
  /// How long before the final transcript every draft has had the first call; 0: the last one had
  /// another, or none. nullopt: nothing was called.
  std::optional<double> known_ahead{};
  /// said_ahead() of the right call; nullopt: the set does not say, or none is right.
  std::optional<double> said_ahead{};
  double waited = 0;          // seconds for tools, after the final transcript
  bool only_reads = false;    // all that were called
  double slowest = 0;         // seconds that the slowest called tool takes
  int64_t effects_ahead = 0;  // calls of tools with effects that began before the final transcript
};

struct ToolTurn {
  TurnResult result;
  ToolOutcome outcome;
};

/// Runs a turn whose model may call these tools, which its session offers. `form`: as
/// ToolRounds::set_form(); empty: nothing is held to one.
ToolTurn run_tool_turn(Session& session, TranscriptSource& source, const TurnObserver& observer,
                       const std::stop_token& stop, const std::vector<SimulatedTool>& tools,
                       const ToolRoundOptions& options, const ToolRounds::FormOf& form,
                       const Tokenizer& tokenizer, Clock& clock);

}  // namespace predgen::evaluate
