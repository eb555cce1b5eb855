#include "runtime/converse/tool_rounds.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/stop.h"
#include "core/text.h"
#include "hear/transcripts/scheduled_source.h"
#include "runtime/converse/consent.h"
#include "runtime/engine/engine_lock.h"

namespace predgen {
namespace {

using act::ToolResult;

constexpr const char* kTooMany = "Sorry, that takes too many steps, so I have stopped.";

/// The words of a turn, which ends without an answer if they are a yes to what was asked.
class ConsentSource : public TranscriptSource {
 public:
  ConsentSource(TranscriptSource& source, bool was_asked)
      : source_(source), was_asked_(was_asked) {}

  std::optional<Transcript> latest(Seconds now) override { return source_.latest(now); }
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override {
    std::optional<Transcript> newest = source_.wait_newer(revision, clock);
    if (!was_asked_ || !newest || !newest->is_final || !is_consent(newest->text)) return newest;
    yes = *newest;
    return std::nullopt;
  }

  std::optional<Transcript> yes;

 private:
  TranscriptSource& source_;
  const bool was_asked_;
};

/// Adds what the next round gave to a turn.
void add_round(TurnResult& turn, TurnResult next) {
  const bool begins = !turn.metrics.ttfs;
  turn.text = joined(turn.text, " ", next.text);
  turn.thought += next.thought;
  turn.thought_tokens += next.thought_tokens;
  turn.answer = std::move(next.answer);
  turn.prompt = std::move(next.prompt);
  turn.stop_reason = next.stop_reason;
  turn.error = std::move(next.error);
  turn.dropped_rounds += next.dropped_rounds;
  std::ranges::move(next.calls, std::back_inserter(turn.calls));
  std::ranges::move(next.events, std::back_inserter(turn.events));
  TurnMetrics& all = turn.metrics;
  const TurnMetrics& more = next.metrics;
  if (begins && more.ttfs) {
    turn.first_sentence = next.first_sentence;
    turn.first_sentence_tokens = next.first_sentence_tokens;
    all.ttfs = more.ttfs;
    all.ttfs_paper = more.ttfs_paper;
    all.first_words = more.first_words;
    all.audio_latency = more.audio_latency;
    all.lead_time = more.lead_time;
    all.first_sentence_kept = more.first_sentence_kept;
    all.ready_before_end = more.ready_before_end;
    all.nfe_to_first_sentence =
        all.total_nfe - all.speculative_nfe + more.nfe_to_first_sentence.value_or(0);
  }
  if (!all.result_audio_latency) all.result_audio_latency = more.audio_latency;
  all.total_nfe += more.total_nfe;
  all.spec_tokens_accepted += more.spec_tokens_accepted;
  all.spec_tokens_wasted = all.spec_tokens_drafted - all.spec_tokens_accepted;
  all.draft_model_total_nfe += more.draft_model_total_nfe;
}

std::string spoken_name(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

}  // namespace

void ToolRounds::offer_tools(Session& session) const {
  const ToolSet tools = act::tool_set(calls_.tools());
  if (tools == session.config().tools) return;
  session.set_tools(tools);
  if (form_of_) {
    const EngineLock::Release rest(session.config().rests);
    session.set_constraint(form_of_(tools));
  }
  session.set_history(session.history());
}

std::optional<TurnResult> ToolRounds::begin(Session& session, TranscriptSource& source,
                                            const TurnObserver& observer,
                                            const std::stop_token& stop) {
  TurnObserver watched = observer;
  watched.on_transcript = [&](const Transcript& heard) {
    if (heard.is_final) words_final_ = heard.time;
    observer.on_transcript(heard);
  };
  approved_.reset();
  ConsentSource words(source, waiting_.has_value());
  std::optional<TurnResult> result = session.run_turn(words, watched, stop);
  if (result) waiting_.reset();  // they said something else
  if (!words.yes) return result;
  watched.on_transcript(*words.yes);
  approved_ = std::exchange(waiting_, std::nullopt);
  std::vector<Message> history = session.history();
  history.push_back({.role = "user", .content = words.yes->text});
  history.push_back({.role = "assistant", .content = "", .tool_calls = {*approved_}});
  session.replace_history(history);
  result.emplace();
  result->prompt_text = words.yes->text;
  result->calls = {*approved_};
  return result;
}

std::optional<TurnResult> ToolRounds::run_turn(Session& session, TranscriptSource& source,
                                               const TurnObserver& observer,
                                               const std::stop_token& stop) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  has_acted_ = has_filler_ = false;
  offer_tools(session);
  early_.begin_turn(stop, num_calls_);
  session.set_early_calls(options_.early_calls > 0 ? &early_ : nullptr);
  std::optional<TurnResult> whole;
  try {
    whole = begin(session, source, observer, stop);
    if (whole) answer_calls(session, *whole, observer, stop);
  } catch (...) {
    early_.end_rounds(kAll);
    throw;
  }
  early_.end_rounds(kAll);
  if (whole) {
    whole->metrics.early_calls = early_.num_begun();
    whole->metrics.early_calls_kept = early_.num_kept();
  }
  return whole;
}

void ToolRounds::answer_calls(Session& session, TurnResult& whole, const TurnObserver& observer,
                              const std::stop_token& stop) {
  TurnObserver silent = observer;  // the user says nothing between rounds
  silent.on_transcript = [](const Transcript&) {};
  bool is_first = false;  // text of a round
  silent.on_text = [&](const std::string& text) {
    observer.on_text((std::exchange(is_first, false) && !whole.text.empty() ? " " : "") + text);
  };
  std::vector<ToolCall> calls = whole.calls;
  for (int64_t number = 1; !whole.error && !calls.empty(); ++number) {
    Round round{.calls = std::move(calls)};
    const bool is_last = number > options_.max_rounds;
    if (is_last) {
      for (ToolCall& call : round.calls) {
        call.id = call_id(num_calls_++);
        round.results.push_back({.role = "tool",
                                 .content = "Error: too many calls for one answer.",
                                 .tool_call_id = call.id});
      }
    } else {
      run(session, round, stop);
    }
    early_.end_rounds(static_cast<size_t>(number) - 1);
    std::vector<Message> history = session.history();
    history.back().tool_calls = round.calls;
    std::ranges::move(round.results, std::back_inserter(history));
    session.replace_history(history);
    if (round.is_stopped) throw Interrupted();
    if (round.asked) {
      std::erase_if(whole.calls, [&](const ToolCall& call) {
        return call.name == round.asked->name && call.arguments == round.asked->arguments;
      });
      return say(session, ask(*round.asked), observer, whole, stop);
    }
    if (is_last) return say(session, kTooMany, observer, whole, stop);
    is_first = true;
    ScheduledSource nothing({{.text = "", .time = words_final_, .is_final = true}});
    std::optional<TurnResult> next =
        session.run_turn(nothing, silent, stop, static_cast<size_t>(number));
    calls = next->calls;
    add_round(whole, *std::move(next));
  }
}

void ToolRounds::run(Session& session, Round& round, const std::stop_token& stop) {
  std::map<std::string, std::string> known;  // the same call is made once
  for (ToolCall& call : round.calls) {
    call.id = call_id(num_calls_++);
    std::string text;
    if (round.is_stopped || round.asked) {
      text = round.asked ? "Not done: another call waits for the user's yes."
                         : "Cancelled before it began: the user did not wait.";
    } else {
      const std::string key = canonical_call(call);
      const auto before = known.find(key);
      text = before != known.end() ? before->second : result_of(session, call, round, stop);
      known[key] = text;
      round.is_stopped = stop.stop_requested();
    }
    round.results.push_back({.role = "tool", .content = text, .tool_call_id = call.id});
  }
}

std::string ToolRounds::result_of(Session& session, const ToolCall& call, Round& round,
                                  const std::stop_token& stop) {
  const std::vector<act::Tool> tools = calls_.tools();
  const auto tool = std::ranges::find(tools, call.name, &act::Tool::name);
  if (tool == tools.end()) return "Error: there is no such tool any more.";
  const bool is_approved = approved_ && canonical_call(*approved_) == canonical_call(call);
  if (tool->asks && !is_approved) {
    round.asked = call;
    return "Not done yet: the user is asked first.";
  }
  approved_.reset();  // for one call
  has_acted_ = true;
  return call_tool(session, *tool, call, stop).text;
}

ToolResult ToolRounds::call_tool(Session& session, const act::Tool& tool, const ToolCall& call,
                                 const std::stop_token& stop) {
  if (std::optional<EarlyCalls::Taken> early = early_.take(tool, call)) {
    if (!early->running) return early->result;
    return wait_for(session, *early->running, call, clock_.now() - early->begun, stop);
  }
  // What was read before an effect is old.
  if (tool.effects != act::Effects::kRead) early_.end_rounds(std::numeric_limits<size_t>::max());
  tell({.kind = ToolEvent::Kind::kRunning, .call = call});
  const auto running = calls_.begin(tool, call.arguments, stop);
  return wait_for(session, *running, call, Seconds(0), stop);
}

ToolResult ToolRounds::wait_for(Session& session, act::BackgroundCall& running,
                                const ToolCall& call, Seconds ahead, const std::stop_token& stop) {
  constexpr Seconds kLong{3600};
  const Seconds needed = clock_.now();
  const auto event = [&](ToolEvent::Kind kind) {
    return ToolEvent{
        .kind = kind, .call = call, .elapsed = ahead + clock_.now() - needed, .ahead = ahead};
  };
  while (true) {
    const bool may_fill = !options_.filler.empty() && !has_filler_ && !stop.stop_requested();
    bool has_news = false;
    {
      const EngineLock::Release rest(session.config().rests);
      const Seconds left = needed + options_.filler_after - clock_.now();
      has_news = running.wait(may_fill ? std::max(left, Seconds(0)) : kLong);
    }
    if (const std::optional<ToolResult> result = running.result()) {
      ToolEvent ended = event(ToolEvent::Kind::kEnded);
      ended.status = result->status;
      tell(ended);
      return *result;
    }
    if (const auto progress = running.take_progress()) {
      ToolEvent more = event(ToolEvent::Kind::kProgress);
      more.progress = *progress;
      tell(more);
    }
    if (may_fill && !has_news) fill(session, call, stop);
  }
}

void ToolRounds::fill(Session& session, const ToolCall& call, const std::stop_token& stop) {
  has_filler_ = true;
  tell({.kind = ToolEvent::Kind::kFiller, .call = call, .text = options_.filler});
  try {
    session.say_aside(options_.filler, stop);
  } catch (const std::exception&) {  // a stop, which the tool sees too, or the voice is lost
  }
}

std::string ToolRounds::ask(const ToolCall& call) {
  std::string details;
  const Json arguments = parse_json(call.arguments, "the arguments of a call");
  for (const auto& [name, value] : arguments.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
    details = joined(details, ", ", spoken_name(name) + " " + shortened(text, 80));
  }
  if (!details.empty()) details = ", with " + shortened(details, 240);
  waiting_ = call;
  std::string question = fmt::format("Shall I call {}{}?", spoken_name(call.name), details);
  tell({.kind = ToolEvent::Kind::kAsked, .call = call, .text = question});
  return question;
}

void ToolRounds::say(Session& session, const std::string& text, const TurnObserver& observer,
                     TurnResult& whole, const std::stop_token& stop) {
  observer.on_text(whole.text.empty() ? text : " " + text);
  whole.text = joined(whole.text, " ", text);
  whole.stop_reason = StopReason::kStopToken;
  try {
    session.say_answer(text, stop);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    whole.error = TurnError{TurnError::Kind::kVoice, first_line(error.what())};
  }
}

}  // namespace predgen
