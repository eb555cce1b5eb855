#include "serve/realtime/turn_loop.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "audio/calling_sink.h"
#include "audio/resampling_sink.h"
#include "runtime/converse/call_constraint.h"
#include "runtime/speech/make_speaker.h"

namespace predgen::serve {
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
      drafts_(listener) {}

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
        dialogue_.fail(to_api_error(error));
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
  has_audio_ = plan.settings.has_audio;
  prepare(session, std::move(plan));
  if (conversation_.is_empty()) return;
  drafts_.begin_turn();
  session_ = &session;
  conversation_.take_turn_begun(session, conversation_);
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
  if (plan.system != session.config().system_prompt) {
    session.set_system_prompt(plan.system);
    if (!history) history = session.history();
  }
  const bool may_call = wanted.tool_choice.kind != ToolChoice::Kind::kNone;
  const ToolSet tools = may_call ? wanted.tools : ToolSet();
  const bool has_new_tools = tools != session.config().tools;
  if (has_new_tools) {
    session.set_tools(tools);
    if (!history) history = session.history();
  }
  if (has_new_tools || wanted.tool_choice != tool_choice_) {
    session.set_constraint(calls_of(tools, wanted.tool_choice, session.config().thinks));
    tool_choice_ = wanted.tool_choice;
  }
  try {
    if (history) session.set_history(*history, plan.stop);
  } catch (const UserError& error) {
    throw unusable(error.what());
  }
}

std::shared_ptr<const TokenConstraint> TurnLoop::calls_of(const ToolSet& tools,
                                                          const ToolChoice& choice,
                                                          bool thinks) const {
  if (tools.empty()) return host_.session.constraint;
  const EngineLock::Release rest(host_.engine_lock);  // compiling takes long
  const bool is_required = choice.kind == ToolChoice::Kind::kRequired;
  const AnswerRules rules{
      .tools = tools,
      .calls = is_required ? AnswerRules::Calls::kRequired : AnswerRules::Calls::kAllowed,
      .only_tool = choice.only};
  const auto held = call_constraint(*host_.grammars, rules, host_.tokenizer, thinks);
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

void TurnLoop::take(const Said& said) {
  drafts_.answer(said.text, dialogue_.wants("speculation"));
  dialogue_.response()->add_text(said.text);
}

void TurnLoop::take(const Answered& answered) {
  const TurnResult& result = answered.result;
  if (has_audio_ && sink_) sink_->drain();  // what a resampler holds
  host_.metrics.count_turn(result.metrics);
  host_.metrics.count_generated(std::ssize(result.answer));
  const auto [num_predicted, num_made] = drafts_.count_predicted(result.calls);
  host_.metrics.count_predicted_calls(num_made, num_predicted - num_made);
  if (result.error) {
    return dialogue_.fail(to_api_error(*result.error));
  }
  const TokenIds& stop_tokens = host_.tokenizer.stop_tokens();
  const bool is_whole = !result.answer.empty() &&
                        std::ranges::find(stop_tokens, result.answer.back()) != stop_tokens.end();
  ResponseEnd end{.status = is_whole ? ResponseStatus::kCompleted : ResponseStatus::kIncomplete,
                  .input_tokens = std::ssize(result.prompt),
                  .output_tokens = std::ssize(result.answer),
                  .calls = result.calls};
  for (ToolCall& call : end.calls) {
    if (call.id.empty()) call.id = new_id("call_");
  }
  if (dialogue_.wants("metrics")) {
    listener_.on_event(TurnMeasured{dialogue_.response()->info().id, result});
  }
  dialogue_.finish(end, end.calls.empty() ? session_->history().back().ids : TokenIds());
}

}  // namespace predgen::serve
