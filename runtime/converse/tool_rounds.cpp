#include "runtime/converse/tool_rounds.h"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <thread>
#include <utility>

#include "core/mutex.h"
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

/// What the thread that waits for a tool sees of the one that runs it.
struct RunningCall {
  Mutex mutex;
  std::condition_variable_any changed;
  std::optional<ToolResult> result GUARDED_BY(mutex);
  std::optional<act::ToolProgress> progress GUARDED_BY(mutex);
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
    all.nfe_to_first_sentence =
        all.total_nfe - all.speculative_nfe + more.nfe_to_first_sentence.value_or(0);
  }
  all.total_nfe += more.total_nfe;
  all.draft_model_total_nfe += more.draft_model_total_nfe;
}

std::string spoken_name(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

}  // namespace

void ToolRounds::offer_tools(Session& session) const {
  const ToolSet tools = act::tool_set(runner_.tools());
  if (tools == session.config().tools) return;
  session.set_tools(tools);
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
  session.set_history(history, stop);
  result.emplace();
  result->prompt_text = words.yes->text;
  result->calls = {*approved_};
  return result;
}

std::optional<TurnResult> ToolRounds::run_turn(Session& session, TranscriptSource& source,
                                               const TurnObserver& observer,
                                               const std::stop_token& stop) {
  has_acted_ = has_filler_ = false;
  offer_tools(session);
  std::optional<TurnResult> whole = begin(session, source, observer, stop);
  if (!whole) return whole;
  TurnObserver silent = observer;  // the user says nothing between rounds
  silent.on_transcript = [](const Transcript&) {};
  bool is_first = false;  // text of a round
  silent.on_text = [&](const std::string& text) {
    observer.on_text((std::exchange(is_first, false) && !whole->text.empty() ? " " : "") + text);
  };
  std::vector<ToolCall> calls = whole->calls;
  for (int64_t number = 1; !whole->error && !calls.empty(); ++number) {
    Round round{.calls = std::move(calls)};
    const bool is_last = number > options_.max_rounds;
    if (is_last) {
      for (ToolCall& call : round.calls) {
        call.id = fmt::format("call{:05}", num_calls_++ % 100000);
        round.results.push_back({.role = "tool",
                                 .content = "Error: too many calls for one answer.",
                                 .tool_call_id = call.id});
      }
    } else {
      run(session, round, stop);
    }
    std::vector<Message> history = session.history();
    history.back().tool_calls = round.calls;
    std::ranges::move(round.results, std::back_inserter(history));
    session.set_history(history, round.is_stopped ? std::stop_token() : stop);
    if (round.is_stopped) throw Interrupted();
    if (round.asked) {
      std::erase_if(whole->calls, [&](const ToolCall& call) {
        return call.name == round.asked->name && call.arguments == round.asked->arguments;
      });
      say(session, ask(*round.asked), observer, *whole, stop);
      return whole;
    }
    if (is_last) {
      say(session, kTooMany, observer, *whole, stop);
      return whole;
    }
    is_first = true;
    ScheduledSource nothing({{.text = "", .time = words_final_, .is_final = true}});
    std::optional<TurnResult> next = session.run_turn(nothing, silent, stop);
    calls = next->calls;
    add_round(*whole, *std::move(next));
  }
  return whole;
}

void ToolRounds::run(Session& session, Round& round, const std::stop_token& stop) {
  std::map<std::pair<std::string, std::string>, std::string> known;  // the same call is made once
  for (ToolCall& call : round.calls) {
    call.id = fmt::format("call{:05}", num_calls_++ % 100000);
    std::string text;
    if (round.is_stopped || round.asked) {
      text = round.asked ? "Not done: another call waits for the user's yes."
                         : "Cancelled before it began: the user did not wait.";
    } else {
      const std::pair key{call.name, act::canonical_arguments(call.arguments)};
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
  const std::vector<act::Tool> tools = runner_.tools();
  const auto tool = std::ranges::find(tools, call.name, &act::Tool::name);
  if (tool == tools.end()) return "Error: there is no such tool any more.";
  const bool is_approved =
      approved_ && approved_->name == call.name &&
      act::canonical_arguments(approved_->arguments) == act::canonical_arguments(call.arguments);
  if (tool->asks && !is_approved) {
    round.asked = call;
    return "Not done yet: the user is asked first.";
  }
  approved_.reset();  // for one call
  has_acted_ = true;
  return wait_for(session, *tool, call, stop).text;
}

ToolResult ToolRounds::wait_for(Session& session, const act::Tool& tool, const ToolCall& call,
                                const std::stop_token& stop) {
  const Seconds begin = clock_.now();
  const auto event = [&](ToolEvent::Kind kind) {
    return ToolEvent{.kind = kind, .call = call, .elapsed = clock_.now() - begin};
  };
  tell(event(ToolEvent::Kind::kRunning));
  RunningCall running;
  std::exception_ptr failure;
  const std::jthread worker([&] {
    ToolResult result;
    try {
      result = runner_.run(tool, call.arguments, stop, [&](act::ToolProgress progress) {
        const Lock lock(running.mutex);
        running.progress = progress;
        running.changed.notify_all();
      });
    } catch (...) {
      failure = std::current_exception();
    }
    const Lock lock(running.mutex);
    running.result = std::move(result);
    running.changed.notify_all();
  });
  const auto filler_at =
      std::chrono::steady_clock::now() + steady_seconds(options_.filler_after.count());
  while (true) {
    const bool may_fill = !options_.filler.empty() && !has_filler_ && !stop.stop_requested();
    std::optional<act::ToolProgress> progress;
    std::optional<ToolResult> result;
    {
      const EngineLock::Release rest(session.config().rests);
      Lock lock(running.mutex);
      const auto has_news = [&]() REQUIRES(running.mutex) {
        return running.result.has_value() || running.progress.has_value();
      };
      if (may_fill) {
        running.changed.wait_until(lock, filler_at, has_news);
      } else {
        running.changed.wait(lock, has_news);
      }
      progress = std::exchange(running.progress, std::nullopt);
      result = running.result;
    }
    if (result) {
      if (failure) std::rethrow_exception(failure);
      ToolEvent ended = event(ToolEvent::Kind::kEnded);
      ended.status = result->status;
      tell(ended);
      return *result;
    }
    if (progress) {
      ToolEvent more = event(ToolEvent::Kind::kProgress);
      more.progress = *progress;
      tell(more);
    }
    if (may_fill && std::chrono::steady_clock::now() >= filler_at) {
      has_filler_ = true;
      ToolEvent filler = event(ToolEvent::Kind::kFiller);
      filler.text = options_.filler;
      tell(filler);
      try {
        session.say_aside(options_.filler, stop);
      } catch (const std::exception&) {  // a stop, which the tool sees too, or the voice is lost
      }
    }
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
