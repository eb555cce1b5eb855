#include "runtime/converse/tool_rounds.h"

#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stop.h"
#include "core/text.h"
#include "hear/transcripts/scheduled_source.h"
#include "runtime/engine/engine_lock.h"
#include "text/words.h"

namespace predgen {
namespace {

constexpr size_t kMostWords = 6;
constexpr std::array<std::string_view, 26> kYes{
    "yes",       "yeah",       "yep",       "yup",      "sure",  "ok",    "okay",
    "certainly", "absolutely", "please do", "go ahead", "do it", "do so", "go on",
    "of course", "ja",         "gerne",     "oui",      "si",    "sí",    "sim",
    "tak",       "hai",        "da",        "evet",     "jo"};
constexpr std::array<std::string_view, 13> kNo{"no",   "not",       "dont",   "but",  "wait",
                                               "stop", "never",     "cancel", "nein", "nicht",
                                               "non",  "different", "instead"};

}  // namespace

bool is_consent(const std::string& words) {
  const std::string bare = bare_words(words);
  const std::vector<std::string> all = list_bare_words(words);
  const bool has_no = std::ranges::any_of(
      all, [](const std::string& word) { return std::ranges::find(kNo, word) != kNo.end(); });
  return all.size() <= kMostWords && !has_no &&
         std::ranges::any_of(kYes, [&](std::string_view yes) {
           return bare == yes || bare.starts_with(std::string(yes) + " ");
         });
}

namespace {

using act::ToolResult;

constexpr Seconds kYesCounts{60};  // after the question
constexpr const char* kTooMany = "Sorry, that takes too many steps, so I have stopped.";

}  // namespace

std::vector<act::Tool> ToolRounds::Ours::tools() const {
  return are_offered ? act::without(calls.tools(), others) : std::vector<act::Tool>();
}

void ToolRounds::share(const ToolSet& others, bool offers_ours) {
  ours_.others = others;
  ours_.are_offered = offers_ours;
}

void ToolRounds::hold(Session& session, const AnswerRules& rules, const FormOf& form_of,
                      const FormForWords& for_words) {
  ConstraintFor constraint_for;
  if (for_words) {
    constraint_for = [=](const std::string& words, bool is_behind_results) {
      return for_words(spoken(rules, is_behind_results), words);
    };
  }
  session.set_constraint(form_of(spoken(rules, /*is_behind_results=*/false)),
                         form_of(spoken(rules, /*is_behind_results=*/true)),
                         std::move(constraint_for));
}

void ToolRounds::offer_tools(Session& session) const {
  const ToolSet tools = offered();
  if (tools == session.config().tools) return;
  session.set_tools(tools);
  if (form_of_) {
    const EngineLock::Release rest(session.config().rests);
    hold(session, {.tools = tools}, form_of_, form_for_words_);
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
  ConsentSource words(source, waiting_ ? std::optional(asked_ + kYesCounts) : std::nullopt);
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
  answered_.clear();
  effects_.clear();
  messages_.clear();
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
  bool only_text = false;
  for (int64_t number = 1; !whole.error && !calls.empty(); ++number) {
    Round round{.calls = std::move(calls)};
    const auto num_ours = std::ranges::count_if(
        round.calls, [this](const ToolCall& call) { return is_ours(call.name); });
    if (num_ours == 0) return;
    round.has_others = num_ours < std::ssize(round.calls);
    const bool is_new = std::ranges::any_of(
        round.calls, [this](const ToolCall& call) { return answered_.find(call) == nullptr; });
    const bool is_last = number > options_.max_rounds || (only_text && !is_new);
    only_text = !is_new;
    is_last ? refuse(round) : run(session, round, stop);
    early_.end_rounds(static_cast<size_t>(number) - 1);
    remember(session, round);
    if (round.is_stopped) throw Interrupted();
    if (round.has_others) {  // with the ids that the history has
      std::ranges::copy(round.calls, whole.calls.end() - std::ssize(round.calls));
      return;
    }
    const std::string failure = effects_.failure();
    if (round.asked) {
      std::erase_if(whole.calls, [&](const ToolCall& call) {
        return call.name == round.asked->name && call.arguments == round.asked->arguments;
      });
      const std::string question = ask(*round.asked);
      say(session, joined(failure, " ", question), observer, whole, stop);
      asked_ = clock_.now();
      return;
    }
    if (!failure.empty()) return say(session, failure, observer, whole, stop);
    if (is_last) return say(session, kTooMany, observer, whole, stop);
    is_first = true;
    TurnResult next = go_on(session, silent, static_cast<size_t>(number), only_text, stop);
    calls = next.calls;
    add_round(whole, std::move(next));
  }
}

TurnResult ToolRounds::go_on(Session& session, const TurnObserver& observer, size_t number,
                             bool only_text, const std::stop_token& stop) {
  ScheduledSource nothing({{.text = "", .time = words_final_, .is_final = true}});
  if (!only_text || !form_of_) return session.run_turn(nothing, observer, stop, number).value();
  const auto usual = session.config().constraint, behind = session.config().behind_results;
  const ConstraintFor for_words = session.config().constraint_for;
  const auto restore =
      c10::make_scope_exit([&] { session.set_constraint(usual, behind, for_words); });
  {
    const EngineLock::Release rest(session.config().rests);
    session.set_constraint(
        form_of_({.tools = session.config().tools, .calls = AnswerRules::Calls::kForbidden}));
  }
  return session.run_turn(nothing, observer, stop, number).value();
}

void ToolRounds::refuse(Round& round) {
  for (ToolCall& call : round.calls) {
    call.id = call_id(num_calls_++);
    if (!is_ours(call.name)) continue;
    round.results.push_back({.role = "tool",
                             .content = "Error: too many calls for one answer.",
                             .tool_call_id = call.id});
  }
}

void ToolRounds::remember(Session& session, const Round& round) {
  std::vector<Message> history = session.history();
  history.back().tool_calls = round.calls;
  messages_.push_back(history.back());
  messages_.insert(messages_.end(), round.results.begin(), round.results.end());
  history.insert(history.end(), round.results.begin(), round.results.end());
  session.replace_history(history);
}

void ToolRounds::run(Session& session, Round& round, const std::stop_token& stop) {
  for (ToolCall& call : round.calls) {
    call.id = call_id(num_calls_++);
    if (!is_ours(call.name)) continue;
    std::string text;
    if (round.is_stopped || round.asked) {
      text = round.asked ? "Not done: another call waits for the user's yes."
                         : "Cancelled before it began: the user did not wait.";
    } else {
      text = result_of(session, call, round, stop);
      round.is_stopped = stop.stop_requested();
    }
    round.results.push_back({.role = "tool", .content = text, .tool_call_id = call.id});
  }
}

std::string ToolRounds::result_of(Session& session, const ToolCall& call, Round& round,
                                  const std::stop_token& stop) {
  if (const std::string* const before = answered_.find(call)) {
    tell({.kind = ToolEvent::Kind::kRepeated, .call = call});
    return *before;
  }
  const std::vector<act::Tool> tools = ours_.tools();
  const auto tool = std::ranges::find(tools, call.name, &act::Tool::name);
  if (tool == tools.end()) {
    effects_.add_missing(call);
    return "Error: there is no such tool any more.";
  }
  if (must_ask(*tool, call)) {
    if (round.has_others) return "Not done: the user is asked first, if nothing else is called.";
    round.asked = call;
    return "Not done yet: the user is asked first.";
  }
  approved_.reset();  // for one call
  has_acted_ = true;
  ToolResult result = call_tool(session, *tool, call, stop);
  effects_.add(call, *tool, result);
  answered_.add(call, tool->effects, result.text);
  return std::move(result.text);
}

bool ToolRounds::must_ask(const act::Tool& tool, const ToolCall& call) const {
  if (approved_ && canonical_call(*approved_) == canonical_call(call)) return false;
  const bool is_late = clock_.now() - words_final_ > Seconds(options_.act_within);
  return tool.asks || (is_late && tool.effects != act::Effects::kRead);
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
  const auto running = ours_.begin(tool, call.arguments, stop);
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
  waiting_ = call;
  std::string question = fmt::format("Shall I call {}?", TurnEffects::spoken_call(call));
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
