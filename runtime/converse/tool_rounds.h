#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "act/background_calls.h"
#include "core/clock.h"
#include "hear/transcripts/transcript_source.h"
#include "runtime/converse/early_calls.h"
#include "runtime/converse/session.h"
#include "runtime/converse/tool_event.h"
#include "runtime/converse/tool_round_options.h"
#include "runtime/converse/turn.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// Turns of a session in which the model's calls are run: once the user's words are final and the
/// answer has the whole call. Before that only EarlyCalls run, which change nothing: the answer is
/// the one that it would be without them, if the tools said the same. What a tool says joins the
/// history as its message, and the answer goes on. A tool that asks is called after the user's next
/// words, if they are a yes. Used by the session's thread; borrows the rest.
class ToolRounds {
 public:
  ToolRounds(act::BackgroundCalls& calls, const ToolRoundOptions& options, const Clock& clock)
      : calls_(calls),
        options_(options),
        clock_(clock),
        early_(calls, options_, clock, [this](const ToolEvent& event) { tell(event); }) {}
  ToolRounds(const ToolRounds&) = delete;
  ToolRounds& operator=(const ToolRounds&) = delete;

  /// From the next turn on, in the session's thread.
  void set_listener(std::function<void(const ToolEvent&)> on_event) {
    on_event_ = std::move(on_event);
  }
  /// What answers that may call these tools are held to; null: anything.
  using FormOf = std::function<std::shared_ptr<const TokenConstraint>(const ToolSet& tools)>;
  /// From the next offer_tools() on. Called while the engine is given up.
  void set_form(FormOf form_of) { form_of_ = std::move(form_of); }
  /// Shows the session the tools of now. UserError if its model's template has none.
  void offer_tools(Session& session) const;
  /// As Session::run_turn(): the result is that of all rounds together, `calls` are those that were
  /// made, and times count from the user's last word. Interrupted cancels what runs: the history
  /// then says so.
  std::optional<TurnResult> run_turn(Session& session, TranscriptSource& source,
                                     const TurnObserver& observer = {},
                                     const std::stop_token& stop = {});
  /// Whether the last turn, or the one in progress, has called a tool: asking its words again would
  /// do so twice.
  bool has_acted() const { return has_acted_; }

 private:
  /// Calls of one message, and what came of them.
  struct Round {
    std::vector<ToolCall> calls;
    std::vector<Message> results{};
    std::optional<ToolCall> asked{};
    bool is_stopped = false;
  };
  std::optional<TurnResult> begin(Session& session, TranscriptSource& source,
                                  const TurnObserver& observer, const std::stop_token& stop);
  /// Runs the calls of an answer, and goes on with it, until there are none.
  void answer_calls(Session& session, TurnResult& whole, const TurnObserver& observer,
                    const std::stop_token& stop);
  void run(Session& session, Round& round, const std::stop_token& stop);
  std::string result_of(Session& session, const ToolCall& call, Round& round,
                        const std::stop_token& stop);
  act::ToolResult call_tool(Session& session, const act::Tool& tool, const ToolCall& call,
                            const std::stop_token& stop);
  /// Waits for its result. `ahead`: how long it had run when the answer needed it.
  act::ToolResult wait_for(Session& session, act::BackgroundCall& running, const ToolCall& call,
                           Seconds ahead, const std::stop_token& stop);
  /// Says the filler, and tells of it.
  void fill(Session& session, const ToolCall& call, const std::stop_token& stop);
  /// Asks the user whether to make a call.
  std::string ask(const ToolCall& call);
  /// The assistant says `text` of its own, which ends the turn.
  static void say(Session& session, const std::string& text, const TurnObserver& observer,
                  TurnResult& whole, const std::stop_token& stop);
  void tell(const ToolEvent& event) const {
    if (on_event_) on_event_(event);
  }

  act::BackgroundCalls& calls_;
  const ToolRoundOptions options_;
  const Clock& clock_;
  EarlyCalls early_;
  std::function<void(const ToolEvent&)> on_event_;
  FormOf form_of_;
  std::optional<ToolCall> waiting_;   // for the user's yes
  std::optional<ToolCall> approved_;  // by it
  Seconds words_final_{0};            // in this turn
  int64_t num_calls_ = 0;             // for ids
  bool has_acted_ = false, has_filler_ = false;
};

}  // namespace predgen
