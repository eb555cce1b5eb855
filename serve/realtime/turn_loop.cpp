#include "serve/realtime/turn_loop.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "audio/audio_sink.h"
#include "audio/resampler.h"
#include "core/log.h"
#include "core/text.h"
#include "runtime/converse/call_constraint.h"
#include "runtime/converse/early_calls.h"
#include "runtime/speech/make_speaker.h"
#include "serve/home_names.h"

namespace predgen::serve {
namespace {

/// `text` without the prefix that it shares with `other`, in whole characters.
std::string rest_after(const std::string& text, const std::string& other) {
  return text.substr(common_start(text, other));
}

}  // namespace

void DraftEvents::begin_turn() {
  heard_ = {};
  draft_.clear();
  last_draft_.clear();
  has_answer_ = false;
  predicted_.clear();
}

void DraftEvents::hear(const Transcript& heard) {
  heard_ = heard;
  if (!draft_.empty()) last_draft_ = std::exchange(draft_, {});
}

void DraftEvents::draft(const std::string& text, size_t accepted_bytes, bool is_wanted) {
  draft_ = text;
  if (!is_wanted) return;
  const std::string kept = text.substr(0, accepted_bytes);
  listener_.on_event(DraftMade{.transcript = heard_.text,
                               .kept = kept,
                               .drafted = text.substr(accepted_bytes),
                               .rejected = rest_after(last_draft_, kept)});
}

void DraftEvents::predict(const std::vector<DraftedCall>& calls, bool is_wanted) {
  for (const DraftedCall& drafted : calls) {
    const bool is_known = std::ranges::find(predicted_, drafted.key) != predicted_.end();
    if (drafted.num_kept == 0 || is_known) continue;
    predicted_.push_back(drafted.key);
    if (is_wanted) listener_.on_event(CallPredicted{drafted.call});
  }
}

std::pair<int64_t, int64_t> DraftEvents::count_predicted(const std::vector<ToolCall>& made) const {
  const auto num_made = std::ranges::count_if(predicted_, [&](const std::string& key) {
    return std::ranges::find(made, key, canonical_call) != made.end();
  });
  return {std::ssize(predicted_), num_made};
}

void DraftEvents::answer(const std::string& text, bool is_wanted) {
  if (std::exchange(has_answer_, true) || !is_wanted) return;
  const std::string rejected = rest_after(last_draft_, text);
  const size_t num_kept = last_draft_.size() - rejected.size();
  listener_.on_event(DraftKept{.kept = last_draft_.substr(0, num_kept), .rejected = rejected});
}

namespace {

ApiError to_api_error(const std::exception& error) {
  if (const auto* known = dynamic_cast<const ApiError*>(&error)) return *known;
  if (dynamic_cast<const UserError*>(&error)) return ApiError({}, error.what());
  return server_fault("a conversation", error);
}

ApiError unusable(const std::string& why) {
  return ApiError({.code = "invalid_conversation"},
                  fmt::format("the model cannot be given this conversation: {}", why));
}

ApiError to_api_error(const TurnError& error) {
  switch (error.kind) {
    case TurnError::Kind::kConversation:
      return unusable(error.text);
    case TurnError::Kind::kContext:
      return ApiError({.code = "context_length_exceeded"}, error.text);
    case TurnError::Kind::kVoice:
    case TurnError::Kind::kOther:
      break;
  }
  return to_api_error(Error("{}", error.text));
}

}  // namespace

TurnLoop::TurnLoop(const RealtimeHost& host, ConversationListener& listener,
                   Conversation& conversation, Dialogue& dialogue, std::string client)
    : host_(host),
      listener_(listener),
      conversation_(conversation),
      dialogue_(dialogue),
      client_(std::move(client)),
      drafts_(listener) {
  if (host.tools == nullptr || !host.tools->may_use(client_)) return;
  rounds_.emplace(calls_.emplace(host.tools->runner, client_), host.tools->config.rounds,
                  host.clock);
  rounds_->set_listener([this](const ToolEvent& event) { take(event); });
  rounds_->set_form(
      [this](const AnswerRules& rules) { return form_of(rules, ""); },
      [this](const AnswerRules& rules, const std::string& words) { return form_of(rules, words); });
}

void TurnLoop::run(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const EngineLock::Hold hold(host_.engine_lock, client_);
  try {
    SessionConfig config = host_.session;
    config.rests = &host_.engine_lock;
    Session session(config, host_.engine, host_.tokenizer, std::make_unique<SilentSpeaker>(),
                    host_.clock);
    while (conversation_.wait_for_work(stop)) {
      try {
        take_turn(session);
      } catch (const Interrupted&) {
        dialogue_.clear_up();
      } catch (const std::exception& error) {
        dialogue_.fail(to_api_error(error), take_rounds());
      }
    }
  } catch (const std::exception& error) {
    listener_.on_event(Failure{to_api_error(error)});
    listener_.on_event(ConversationEnded{ConversationEnded::Reason::kServerFailed});
  }
  host_.metrics.note_pool(host_.engine.pool());
}

void TurnLoop::take_turn(Session& session) {
  Dialogue::Plan plan = dialogue_.plan_turn();
  prepare(session, std::move(plan));
  if (conversation_.is_empty()) return;
  drafts_.begin_turn();
  session_ = &session;
  conversation_.take_turn_begun(session, conversation_);
  use_opening(session, [] { return false; });
}

void TurnLoop::prepare(Session& session, Dialogue::Plan plan) {
  if (plan.voice) use_voice(plan.voice, session);
  const RealtimeSettings& wanted = plan.settings;
  session.set_silent(!wanted.has_audio);
  const SessionConfig& config = host_.session;
  session.set_work(wanted.speculates ? InputTimeWork::kSpeculate : InputTimeWork::kCascade);
  session.set_max_new_tokens(std::min(
      config.turn.max_new_tokens, wanted.max_output_tokens.value_or(config.turn.max_new_tokens)));
  session.set_sampling(wanted.sampling ? wanted.sampling : config.sampling);
  std::optional<std::vector<Message>>& history = plan.history;
  const std::string home = rounds_ ? host_.tools->runner.prompt() : "";
  plan.system = joined(plan.system, "\n\n", home);
  if (plan.system != session.config().system_prompt) {
    session.set_system_prompt(plan.system);
    opening_.reset();
    if (!history) history = session.history();
  }
  const bool may_call = wanted.tool_choice.kind != ToolChoice::Kind::kNone;
  ToolSet tools = may_call ? wanted.tools : ToolSet();
  if (rounds_) {
    rounds_->share(tools, wanted.tool_choice.kind == ToolChoice::Kind::kAuto);
    tools = rounds_->offered();
  }
  const bool has_new_tools = tools != session.config().tools;
  if (has_new_tools) {
    session.set_tools(tools);
    opening_.reset();
    if (!history) history = session.history();
  }
  const bool is_new_home = std::exchange(home_, home) != home;
  const bool has_switched = std::exchange(has_audio_, wanted.has_audio) != wanted.has_audio;
  if (has_new_tools || is_new_home || has_switched || wanted.tool_choice != tool_choice_) {
    const bool is_required = wanted.tool_choice.kind == ToolChoice::Kind::kRequired;
    const EngineLock::Release rest(host_.engine_lock);  // compiling takes long
    const AnswerRules rules{
        .tools = tools,
        .calls = is_required ? AnswerRules::Calls::kRequired : AnswerRules::Calls::kAllowed,
        .only_tool = wanted.tool_choice.only};
    ToolRounds::hold(
        session, rules, [this](const AnswerRules& held) { return form_of(held, ""); },
        [this](const AnswerRules& held, const std::string& words) { return form_of(held, words); });
    tool_choice_ = wanted.tool_choice;
  }
  const bool is_read = use_opening(session, [this, stop = plan.stop] {
    return conversation_.is_empty() && !stop.stop_requested();
  });
  if (!history) return;
  if (is_read && history->empty()) return session.replace_history({});
  try {
    session.set_history(*history, plan.stop);
  } catch (const UserError& error) {
    throw unusable(error.what());
  }
}

bool TurnLoop::use_opening(Session& session, const std::function<bool()>& may_read) {
  if (host_.openings == nullptr) return false;
  if (!opening_) opening_ = session.opening();
  // What the server itself says to everybody tells nobody anything of others.
  const SessionConfig& now = session.config();
  const bool is_own = now.system_prompt == joined(host_.session.system_prompt, "\n\n", home_) &&
                      (now.tools.empty() || has_only_ours(now.tools));
  host_.openings->prepare(session, is_own ? "" : client_, *opening_, may_read);
  return !opening_->empty();
}

bool TurnLoop::has_only_ours(const ToolSet& tools) const {
  return rounds_ && std::ranges::all_of(tools.names, [this](const std::string& name) {
           return rounds_->is_ours(name);
         });
}

std::shared_ptr<const TokenConstraint> TurnLoop::form_of(AnswerRules rules,
                                                         const std::string& words) const {
  const bool names_home = rounds_ && host_.tools->config.constrain_names;
  // Who requires a call may mean more than was said.
  const bool is_narrowed =
      names_home && !home_.empty() && rules.calls == AnswerRules::Calls::kAllowed;
  if (!words.empty() && !is_narrowed) return nullptr;
  if (rules.tools.empty()) return host_.session.constraint;
  const bool are_ours = has_only_ours(rules.tools);
  // Who reads, or calls functions of their own, may have asked for JSON; thoughts have anything.
  const bool is_speech = has_audio_ && are_ours && !host_.session.thinks;
  if (!is_speech) rules.json = AnswerRules::NamedJson::kText;
  const auto compile = [&] {
    if (names_home) {
      rules.tools =
          with_home_names(std::move(rules.tools), {{.role = "system", .content = home_}}, words);
      rules.is_passing = !words.empty();
    }
    return call_constraint(*host_.grammars, rules, host_.tokenizer, host_.session.thinks);
  };
  const auto held = are_ours || !words.empty() ? held_if_possible(compile) : compile();
  return held ? held : host_.session.constraint;
}

void TurnLoop::use_voice(std::unique_ptr<SpeechSynthesizer>& voice, Session& session) {
  session.set_speaker(std::make_unique<SilentSpeaker>());  // before its voice and sink go
  try {
    sink_ = std::make_unique<CallingSink>([this](std::span<const float> samples) {
      if (const auto current = dialogue_.response()) {
        current->add_sound(samples, host_.clock.now());
      }
    });
    const int rate = voice->sample_rate();
    if (rate != kRealtimeRate) {
      sink_ = std::make_unique<ResamplingSink>(std::move(sink_), rate, kRealtimeRate);
    }
    std::unique_ptr<Speaker> speaker;
    {
      const EngineLock::Release rest(host_.engine_lock);
      speaker = make_speaker(
          host_.clock,
          {.voice = voice.get(), .sink = sink_.get(), .ahead = host_.offer.voice->ahead_buffer()},
          std::stop_token());
    }
    session.set_speaker(std::move(speaker));
    voice_ = std::move(voice);
  } catch (...) {  // no thread, for example: the next turn tries again
    dialogue_.return_voice(std::move(voice));
    throw;
  }
}

void TurnLoop::take(const Drafted& drafted) {
  drafts_.draft(drafted.draft, drafted.accepted_bytes, dialogue_.wants("speculation"));
}

void TurnLoop::take(const SentenceDrafted& drafted) {
  if (dialogue_.wants("sentence")) listener_.on_event(SentenceReady{drafted.sentence});
}

void TurnLoop::take(const CallsDrafted& drafted) {
  std::vector<DraftedCall> theirs = drafted.calls;
  std::erase_if(theirs, [this](const DraftedCall& one) { return is_own(one.call); });
  drafts_.predict(theirs, dialogue_.wants("calls"));
  for (const DraftedCall& one : drafted.calls) {
    if (is_own(one.call)) take(ToolEvent{.kind = ToolEvent::Kind::kDrafted, .call = one.call});
  }
}

void TurnLoop::take(const ToolEvent& event) {
  using Kind = ToolEvent::Kind;
  if (event.kind == Kind::kEnded) {
    host_.metrics.count_tool_call(act::to_string(event.status), event.elapsed);
  }
  const bool had_begun = event.kind == Kind::kEnded && !event.is_early && event.ahead.count() > 0;
  const bool is_kept = event.kind == Kind::kKept || had_begun;
  if (is_kept || event.kind == Kind::kDiscarded) host_.metrics.count_early_call(is_kept);
  if (dialogue_.wants("tools")) listener_.on_event(ToolCalled{event});
}

void TurnLoop::take(const Said& said) {
  drafts_.answer(said.text, dialogue_.wants("speculation"));
  dialogue_.response()->add_text(said.text);
}

void TurnLoop::take(const Answered& answered) {
  const TurnResult& result = answered.result;
  if (has_audio_ && sink_) sink_->drain();  // what a resampler holds
  host_.metrics.count_turn(result.metrics);
  const int64_t num_generated = result.earlier_answer_tokens + std::ssize(result.answer);
  host_.metrics.count_generated(num_generated);
  std::vector<ToolCall> calls = result.calls;
  std::erase_if(calls, [this](const ToolCall& call) { return is_own(call); });
  const auto [num_predicted, num_made] = drafts_.count_predicted(calls);
  host_.metrics.count_predicted_calls(num_made, num_predicted - num_made);
  if (result.error) {
    return dialogue_.fail(to_api_error(*result.error), take_rounds());
  }
  const TokenIds& stop_tokens = host_.tokenizer.stop_tokens();
  const bool is_whole = !result.answer.empty() &&
                        std::ranges::find(stop_tokens, result.answer.back()) != stop_tokens.end();
  ResponseEnd end{.status = is_whole ? ResponseStatus::kCompleted : ResponseStatus::kIncomplete,
                  .input_tokens = result.earlier_prompt_tokens + std::ssize(result.prompt),
                  .output_tokens = num_generated,
                  .calls = std::move(calls),
                  .rounds = take_rounds()};
  for (ToolCall& call : end.calls) {
    if (call.id.empty()) call.id = new_id("call_");
  }
  if (dialogue_.wants("metrics")) {
    listener_.on_event(TurnMeasured{dialogue_.response()->info().id, result});
  }
  dialogue_.finish(end, end.calls.empty() ? session_->history().back().ids : TokenIds());
}

}  // namespace predgen::serve
