#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "act/background_calls.h"
#include "core/clock.h"
#include "hear/transcripts/transcript_source.h"
#include "runtime/converse/early_calls.h"
#include "runtime/converse/session.h"
#include "runtime/converse/tool_event.h"
#include "runtime/converse/tool_round_options.h"
#include "runtime/converse/turn.h"
#include "runtime/converse/turn_effects.h"
#include "text/grammar/answer_form.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// Whether somebody who was asked whether to do something says yes, and nothing else: at most six
/// words that begin with one of "yes", "ok", "please do" and their like in some languages, without
/// a no, a but or a wait.
bool is_consent(const std::string& words);

/// The words of a turn, which ends without an answer if they are a yes to what was asked. `until`:
/// when they must be final for that; nullopt: nothing was asked. Borrows the source.
class ConsentSource : public TranscriptSource {
 public:
  ConsentSource(TranscriptSource& source, std::optional<Seconds> until)
      : source_(source), until_(until) {}

  std::optional<Transcript> latest(Seconds now) override { return source_.latest(now); }
  bool expects_words(Seconds now) override { return source_.expects_words(now); }
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override {
    std::optional<Transcript> newest = source_.wait_newer(revision, clock);
    const bool is_answer = until_ && newest && newest->is_final && newest->time <= *until_;
    if (!is_answer || !is_consent(newest->text)) return newest;
    yes = *newest;
    return std::nullopt;
  }

  std::optional<Transcript> yes;

 private:
  TranscriptSource& source_;
  const std::optional<Seconds> until_;
};

/// Turns of a session in which the model's calls are run: once the user's words are final and the
/// answer has the whole call. Before that only EarlyCalls run, which change nothing: the answer is
/// the one that it would be without them, if the tools said the same. What a tool says joins the
/// history as its message, and the answer goes on. A tool that asks is called after the user's next
/// words, if they are a yes. A call that was answered before in the turn (AnsweredCalls) is not
/// made again, and after a message of such calls alone the answer is text. Behind a call with
/// effects that failed, the assistant says TurnEffects::failure(), not the model, and the turn is
/// over. Used by the session's thread; borrows the rest.
class ToolRounds {
 public:
  ToolRounds(act::BackgroundCalls& calls, const ToolRoundOptions& options, const Clock& clock)
      : ours_(calls),
        options_(options),
        clock_(clock),
        early_(ours_, options_, clock, [this](const ToolEvent& event) { tell(event); }) {}
  ToolRounds(const ToolRounds&) = delete;
  ToolRounds& operator=(const ToolRounds&) = delete;

  /// From the next turn on, in the session's thread.
  void set_listener(std::function<void(const ToolEvent&)> on_event) {
    on_event_ = std::move(on_event);
  }
  /// What answers under such rules are held to; null: anything. The rules are those of spoken().
  using FormOf = std::function<std::shared_ptr<const TokenConstraint>(const AnswerRules& rules)>;
  /// What an answer to these words of the user is held to under such rules; null: as to any others.
  using FormForWords = std::function<std::shared_ptr<const TokenConstraint>(
      const AnswerRules& rules, const std::string& words)>;
  /// From the session's next turn on, holds its answers to `rules`. `for_words` null: whatever the
  /// user says.
  static void hold(Session& session, const AnswerRules& rules, const FormOf& form_of,
                   const FormForWords& for_words = nullptr);
  /// From the next offer_tools() on. Called while the engine is given up.
  void set_form(FormOf form_of, FormForWords for_words = nullptr) {
    form_of_ = std::move(form_of);
    form_for_words_ = std::move(for_words);
  }
  /// From the next turn on: functions that the caller runs. An answer that calls one ends there,
  /// once ours in the same message have run; ours of the same name are hidden. `offers_ours` false:
  /// the model sees none of ours.
  void share(const ToolSet& others, bool offers_ours);
  bool is_ours(const std::string& name) const {
    return std::ranges::find(ours_.others.names, name) == ours_.others.names.end();
  }
  /// What the model may call now.
  ToolSet offered() const { return act::together(ours_.others, act::tool_set(ours_.tools())); }
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
  /// Messages of the turn so far that call tools of ours, and of what these said: in the history
  /// they stand before the turn's last message. Forgets them.
  std::vector<Message> take_messages() { return std::exchange(messages_, {}); }

 private:
  /// Our tools.
  struct Ours : act::BackgroundCalls {
    explicit Ours(act::BackgroundCalls& all) : calls(all) {}
    std::vector<act::Tool> tools() const override;
    std::unique_ptr<act::BackgroundCall> begin(const act::Tool& tool, const std::string& arguments,
                                               const std::stop_token& stop) override {
      return calls.begin(tool, arguments, stop);
    }
    std::optional<std::string> expected(const act::Tool& tool,
                                        const std::string& arguments) const override {
      return calls.expected(tool, arguments);
    }
    act::BackgroundCalls& calls;
    ToolSet others{};
    bool are_offered = true;
  };
  /// Calls of one message, and what came of ours.
  struct Round {
    std::vector<ToolCall> calls;
    bool has_others = false;
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
  /// Too many: none of its calls is made.
  void refuse(Round& round);
  /// Adds what came of a round to the history.
  void remember(Session& session, const Round& round);
  /// The next round of an answer. `only_text`: it calls nothing, where that can be had.
  TurnResult go_on(Session& session, const TurnObserver& observer, size_t number, bool only_text,
                   const std::stop_token& stop);
  std::string result_of(Session& session, const ToolCall& call, Round& round,
                        const std::stop_token& stop);
  act::ToolResult call_tool(Session& session, const act::Tool& tool, const ToolCall& call,
                            const std::stop_token& stop);
  /// Waits for its result. `ahead`: how long it had run when the answer needed it.
  act::ToolResult wait_for(Session& session, act::BackgroundCall& running, const ToolCall& call,
                           Seconds ahead, const std::stop_token& stop);
  /// Says the filler, and tells of it.
  void fill(Session& session, const ToolCall& call, const std::stop_token& stop);
  /// Whether the user must say yes to a call first: its tool asks, or the words that ask for it are
  /// old.
  bool must_ask(const act::Tool& tool, const ToolCall& call) const;
  /// Asks the user whether to make a call.
  std::string ask(const ToolCall& call);
  /// The assistant says `text` of its own, which ends the turn.
  static void say(Session& session, const std::string& text, const TurnObserver& observer,
                  TurnResult& whole, const std::stop_token& stop);
  void tell(const ToolEvent& event) const {
    if (on_event_) on_event_(event);
  }

  Ours ours_;
  const ToolRoundOptions options_;
  const Clock& clock_;
  EarlyCalls early_;
  std::function<void(const ToolEvent&)> on_event_;
  FormOf form_of_;
  FormForWords form_for_words_;
  std::optional<ToolCall> waiting_;   // for the user's yes
  Seconds asked_{0};                  // when that was
  std::optional<ToolCall> approved_;  // by it
  AnsweredCalls answered_;            // in this turn
  TurnEffects effects_;               // of it
  std::vector<Message> messages_;     // of it
  Seconds words_final_{0};            // in it
  int64_t num_calls_ = 0;             // for ids
  bool has_acted_ = false, has_filler_ = false;
};

}  // namespace predgen
