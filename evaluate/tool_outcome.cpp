#include "evaluate/tool_outcome.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "runtime/converse/early_calls.h"
#include "text/tools/tool_call_parser.h"

namespace predgen::evaluate {
namespace {

/// Texts that look like calls but are none: cut off, no JSON, or of a tool that does not exist.
int64_t count_broken(const std::string& text, ToolFormat format, const ToolSet& tools) {
  ToolCallParser parser(format, tools);
  std::vector<ToolCallParser::Part> parts = parser.push(text);
  std::ranges::move(parser.finish(), std::back_inserter(parts));
  const int64_t broken =
      std::ranges::count(parts, ToolCallParser::Part::Kind::kBroken, &ToolCallParser::Part::kind);
  const bool is_like_one = text.find("\"arguments\"") != std::string::npos ||
                           text.find("\"parameters\"") != std::string::npos;
  return broken == 0 && is_like_one ? 1 : broken;
}

/// Since when the drafts of a turn have had which calls.
class DraftedSince {
 public:
  void note_transcript(const Transcript& heard) {
    if (heard.is_final) {
      end_ = heard.time;
    } else {
      standing_.clear();  // until the draft has been verified against it
    }
  }
  void note_calls(const std::vector<DraftedCall>& calls, Seconds now) {
    std::map<std::string, Seconds> since;
    for (const DraftedCall& drafted : calls) {
      const auto before = last_.find(drafted.key);
      const bool is_kept = drafted.num_kept > 0 && before != last_.end();
      since[drafted.key] = is_kept ? before->second : now;
    }
    standing_ = last_ = std::move(since);
  }
  Seconds end() const { return end_; }
  /// Before the end; 0: the last draft does not have it.
  double ahead(const std::string& key) const {
    const auto found = standing_.find(key);
    return found == standing_.end() ? 0 : (end_ - found->second).count();
  }

 private:
  std::map<std::string, Seconds> last_, standing_;
  Seconds end_{0};
};

}  // namespace

ToolTurn run_tool_turn(Session& session, TranscriptSource& source, const TurnObserver& observer,
                       const std::stop_token& stop, const std::vector<SimulatedTool>& tools,
                       const ToolRoundOptions& options, const ToolRounds::FormOf& form,
                       const Tokenizer& tokenizer, Clock& clock) {
  SimulatedCalls calls(tools, clock);
  ToolRounds rounds(calls, options, clock);
  rounds.set_form(form);
  ToolTurn turn;
  ToolOutcome& outcome = turn.outcome;
  rounds.set_listener([&](const ToolEvent& event) {
    const bool was_waited_for = event.kind == ToolEvent::Kind::kEnded && !event.is_early;
    if (was_waited_for) outcome.waited += (event.elapsed - event.ahead).count();
  });
  DraftedSince drafted;
  TurnObserver watched = observer;
  watched.on_transcript = [&](const Transcript& heard) {
    drafted.note_transcript(heard);
    observer.on_transcript(heard);
  };
  watched.on_calls = [&](const std::vector<DraftedCall>& some) {
    drafted.note_calls(some, clock.now());
  };
  std::optional<TurnResult> result = rounds.run_turn(session, source, watched, stop);
  session.set_early_calls(nullptr);  // they end here
  PREDGEN_CHECK(result, "a turn gave no result");
  turn.result = *std::move(result);
  outcome.calls = turn.result.calls;
  outcome.num_malformed =
      count_broken(turn.result.text, tokenizer.tool_format(), session.config().tools);
  outcome.only_reads = !outcome.calls.empty();
  for (const ToolCall& call : outcome.calls) {
    const SimulatedTool& tool = *find_tool(tools, call.name);
    const Json arguments = parse_json(call.arguments, "the arguments of a call");
    if (!call_fault(tool.tool, arguments).empty()) ++outcome.num_malformed;
    if (tool.has_effects()) outcome.only_reads = false;
    outcome.slowest = std::max(outcome.slowest, tool.seconds);
  }
  if (!outcome.calls.empty()) {
    outcome.known_ahead = drafted.ahead(canonical_call(outcome.calls.front()));
  }
  outcome.effects_ahead = std::ranges::count_if(calls.begun(), [&](const auto& begun) {
    return begun.tool->has_effects() && begun.time < drafted.end();
  });
  return turn;
}

}  // namespace predgen::evaluate
