#include "serve/realtime/turn_loop.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "audio/calling_sink.h"
#include "audio/resampling_sink.h"
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

TurnLoop::TurnLoop(const RealtimeHost& host, ConversationListener& listener, SessionInbox& inbox,
                   Dialogue& dialogue, std::string client)
    : host_(host),
      listener_(listener),
      inbox_(inbox),
      dialogue_(dialogue),
      client_(std::move(client)),
      drafts_(listener),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

TurnLoop::~TurnLoop() {
  thread_.request_stop();
  dialogue_.stop();
  thread_.join();
}

void TurnLoop::work(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const Baton::Hold hold(host_.baton, client_);
  try {
    SessionConfig config = host_.session;
    config.rests = &host_.baton;
    Session session(config, host_.engine, host_.tokenizer, std::make_unique<SilentSpeaker>(),
                    host_.clock);
    while (inbox_.wait(stop)) {
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
  const std::stop_token stop = plan.mail.stop;
  const bool has_audio = plan.settings.has_audio;
  prepare(session, std::move(plan));
  if (inbox_.is_empty()) return;
  drafts_.begin_turn();
  const std::optional<TurnResult> result = session.run_turn(inbox_, observer(), stop);
  if (has_audio && sink_) sink_->drain();  // what a resampler holds
  if (result) finish_turn(session, *result);
}

void TurnLoop::prepare(Session& session, Dialogue::Plan plan) {
  if (plan.mail.voice) use_voice(plan.mail.voice, session);
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
  const ToolSet tools = wanted.may_call ? wanted.tools : ToolSet();
  if (tools != session.config().tools) {
    session.set_tools(tools);
    if (!history) history = session.history();
  }
  try {
    if (history) session.set_history(*history, plan.mail.stop);
  } catch (const UserError& error) {
    throw unusable(error.what());
  }
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
      const Baton::Rest rest(host_.baton);
      speaker = make_speaker(
          host_.clock,
          {.voice = voice.get(), .sink = sink_.get(), .ahead = host_.offer.voice->ahead_buffer()},
          std::stop_token());
    }
    session.set_speaker(std::move(speaker));
    voice_ = std::move(voice);
  } catch (...) {  // no thread, for example: the next turn tries again
    inbox_.return_voice(std::move(voice));
    throw;
  }
}

void TurnLoop::set_on_end_by_words(OnEndByWords tell) {
  const Lock lock(mutex_);
  on_end_by_words_ = std::move(tell);
}

TurnObserver TurnLoop::observer() {
  TurnObserver observer;
  observer.on_transcript = [this](const Transcript& heard) { drafts_.hear(heard); };
  observer.on_draft = [this](const std::string& draft, size_t accepted_bytes) {
    drafts_.draft(draft, accepted_bytes, dialogue_.wants("speculation"));
  };
  if (dialogue_.settings().turn_detection.end.by_words) {
    observer.on_end_by_words = [this](const std::string& words, double probability) {
      const Lock lock(mutex_);
      if (on_end_by_words_) on_end_by_words_(words, probability);
    };
  }
  observer.on_first_sentence = [this](const std::string& sentence) {
    if (dialogue_.wants("sentence")) listener_.on_event(SentenceReady{sentence});
  };
  observer.on_text = [this](const std::string& text) {
    drafts_.answer(text, dialogue_.wants("speculation"));
    dialogue_.response()->add_text(text);
  };
  return observer;
}

void TurnLoop::finish_turn(const Session& session, const TurnResult& result) {
  host_.metrics.count_turn(result.metrics);
  host_.metrics.count_generated(std::ssize(result.answer));
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
  dialogue_.finish(end, end.calls.empty() ? session.history().back().ids : TokenIds());
}

}  // namespace predgen::serve
