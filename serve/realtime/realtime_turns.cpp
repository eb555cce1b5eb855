#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "core/text.h"
#include "runtime/converse/turn_json.h"
#include "serve/realtime/realtime_conversation.h"
#include "serve/resting_tokenizer.h"

// What a conversation's own thread does: turn after turn of its session.
namespace predgen::serve {
namespace {

/// What a client may know of it. Details of what is not its fault are for the log.
ApiError to_api_error(const std::exception& error) {
  if (const auto* known = dynamic_cast<const ApiError*>(&error)) return *known;
  if (dynamic_cast<const UserError*>(&error)) return ApiError({}, error.what());
  spdlog::error("a conversation failed: {}", first_line(error.what()));
  return ApiError({.status = 500, .type = "server_error"}, "the server failed; its log says more");
}

/// Why the template does not take this conversation; nothing: it does.
std::optional<std::string> refusal(const Session& session, const Tokenizer& tokenizer,
                                   const std::string& question) {
  std::vector<Message> messages = session.history();
  if (!is_blank(question)) messages.push_back({.role = "user", .content = question});
  if (messages.empty()) return std::nullopt;
  try {
    tokenizer.render_chat(messages, /*add_generation_prompt=*/true, session.config().tools);
  } catch (const UserError& error) {
    return error.what();
  }
  return std::nullopt;
}

ApiError unusable(const std::string& why) {
  return ApiError({.code = "invalid_conversation"},
                  fmt::format("the model cannot be given this conversation: {}", why));
}

}  // namespace

void RealtimeConversation::work(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const Baton::Hold hold(host_.baton, client_);
  const RestingTokenizer tokenizer(host_.tokenizer, host_.baton);
  try {
    const Voice* const voice = host_.offer.voice;
    auto made = std::make_unique<RestingSpeaker>(
        host_.baton, host_.clock, voice ? voice->ahead_buffer() : AheadBuffer{}, kRealtimeRate,
        [this](std::span<const float> samples) {
          if (const auto current = response()) current->add_sound(samples);
        });
    RestingSpeaker& speaker = *made;
    Session session(host_.session, host_.engine, tokenizer, std::move(made), host_.clock);
    while (wait_for_work(stop)) {
      try {
        prepare(session, speaker);
        if (!source_.is_empty()) run_turn(session);
      } catch (const Interrupted&) {
        clear_up();
      } catch (const std::exception& error) {
        fail(to_api_error(error));
      }
    }
  } catch (const std::exception& error) {
    events_.send_error(to_api_error(error));
    events_.close(1011, "the server failed");
  }
  host_.metrics.note_pool(host_.engine.pool());
}

bool RealtimeConversation::wait_for_work(const std::stop_token& stop) {
  const Baton::Rest rest(host_.baton);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return has_changed_ || (!is_blocked_ && !source_.is_empty()); });
  return !stop.stop_requested();
}

void RealtimeConversation::prepare(Session& session, RestingSpeaker& speaker) {
  RealtimeSettings wanted;
  std::string system;
  std::optional<std::vector<Message>> history;
  std::unique_ptr<SpeechSynthesizer> voice;
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex_);
    if (!is_cancelled_) turn_stop_ = {};
    stop = turn_stop_.get_token();
    source_.begin_turn(stop);
    has_changed_ = is_blocked_ = false;
    wanted = response_ ? response_->settings() : settings_;
    voice = std::move(new_voice_);
    system = joined(wanted.instructions, "\n\n", items_.system_text());
    if (std::exchange(has_new_history_, false)) history = items_.history();
  }
  if (voice) use_voice(std::move(voice), speaker);
  speaker.set_silent(!wanted.has_audio);
  const SessionConfig& config = host_.session;
  session.set_work(wanted.speculates ? InputTimeWork::kSpeculate : InputTimeWork::kCascade);
  session.set_max_new_tokens(std::min(
      config.turn.max_new_tokens, wanted.max_output_tokens.value_or(config.turn.max_new_tokens)));
  if (system != session.config().system_prompt) {
    session.set_system_prompt(system);
    if (!history) history = session.history();
  }
  const ToolSet tools = wanted.may_call ? wanted.tools : ToolSet();
  if (tools != session.config().tools) {
    session.set_tools(tools);
    if (!history) history = session.history();
  }
  try {
    if (history) session.set_history(*history, stop);
  } catch (const UserError& error) {
    throw unusable(error.what());
  }
}

void RealtimeConversation::use_voice(std::unique_ptr<SpeechSynthesizer> voice,
                                     RestingSpeaker& speaker) {
  try {
    speaker.use(voice);
  } catch (...) {  // no thread, for example: the next turn tries again
    const std::lock_guard lock(mutex_);
    if (!new_voice_) new_voice_ = std::move(voice);
    throw;
  }
}

TurnObserver RealtimeConversation::observer() {
  TurnObserver observer;
  observer.on_transcript = [this](const Transcript& heard) { drafts_.hear(heard); };
  observer.on_draft = [this](const std::string& draft, size_t accepted_bytes) {
    drafts_.draft(draft, accepted_bytes, wants("speculation"));
  };
  observer.on_first_sentence = [this](const std::string& sentence) {
    if (wants("sentence")) events_.send("predgen.sentence.ready", {{"text", sentence}});
  };
  observer.on_text = [this](const std::string& text) {
    drafts_.answer(text, wants("speculation"));
    response()->add_text(text);
  };
  return observer;
}

void RealtimeConversation::run_turn(Session& session) {
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex_);
    stop = turn_stop_.get_token();
  }
  drafts_.begin_turn();
  if (const auto result = session.run_turn(source_, observer(), stop))
    finish_turn(session, *result);
}

void RealtimeConversation::finish_turn(const Session& session, const TurnResult& result) {
  host_.metrics.count_turn(result.metrics);
  host_.metrics.count_generated(std::ssize(result.answer));
  RealtimeResponse::End end;
  end.usage = {.input_tokens = std::ssize(result.prompt),
               .output_tokens = std::ssize(result.answer)};
  if (result.error) {
    const int64_t room = std::min(host_.session.max_context, host_.engine.model().max_positions());
    if (std::ssize(result.prompt) >= room) {
      return fail(ApiError({.code = "context_length_exceeded"}, *result.error));
    }
    const auto why =
        refusal(session, RestingTokenizer(host_.tokenizer, host_.baton), result.prompt_text);
    return fail(why ? unusable(*why) : to_api_error(Error("{}", *result.error)));
  }
  const TokenIds& stop_tokens = host_.tokenizer.stop_tokens();
  const bool is_whole = !result.answer.empty() &&
                        std::ranges::find(stop_tokens, result.answer.back()) != stop_tokens.end();
  if (!is_whole) {
    end.status = "incomplete";
    end.details = {{"type", "incomplete"}, {"reason", "max_output_tokens"}};
  }
  end.calls = result.calls;
  for (ToolCall& call : end.calls) {
    if (call.id.empty()) call.id = new_id("call_");
  }
  const std::vector<Message> history = session.history();
  if (wants("metrics")) send_metrics(result);
  const std::lock_guard lock(mutex_);
  if (!end.calls.empty()) has_new_history_ = true;  // the session does not know their ids
  finish_response(end, end.calls.empty() ? history.back().ids : TokenIds());
}

void RealtimeConversation::send_metrics(const TurnResult& result) {
  Seconds end_of_turn{0};
  for (const TurnEvent& event : result.events) {
    if (event.kind == "final") end_of_turn = event.time;
  }
  Json events = Json::array();  // without texts: those of drafts are other events
  for (const TurnEvent& event : result.events) {
    events.push_back({{"kind", event.kind}, {"time", (event.time - end_of_turn).count()}});
  }
  events_.send("predgen.metrics", {{"response_id", response()->id()},
                                   {"metrics", metrics_json(result.metrics)},
                                   {"events", events}});
}

}  // namespace predgen::serve
