#include "runtime/serve/realtime/realtime_conversation.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "core/text.h"
#include "runtime/converse/turn_json.h"
#include "runtime/serve/realtime/realtime_speaker.h"

namespace predgen {
namespace {

std::string joined(const std::string& one, const char* between, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + between + other;
}

RealtimeSettings first_settings(const RealtimeHost& host) {
  return {.instructions = host.session.system_prompt,
          .has_audio = !host.offer.voice.empty(),
          .voice = host.offer.voice,
          .turn_detection = {.is_on = host.offer.has_recogniser},
          .speculates = host.session.turn.work != InputTimeWork::kCascade};
}

/// What a client may know of it. Details of what is not its fault are for the log.
ApiError to_api_error(const std::exception& error) {
  if (const auto* known = dynamic_cast<const ApiError*>(&error)) return *known;
  if (dynamic_cast<const UserError*>(&error)) return ApiError({}, error.what());
  spdlog::error("a conversation failed: {}", first_line(error.what()));
  return ApiError({.status = 500, .type = "server_error"}, "the server failed; its log says more");
}

}  // namespace

RealtimeConversation::RealtimeConversation(const RealtimeHost& host, const EventSender& events)
    : host_(host),
      events_(events),
      source_(host.baton, host.clock),
      settings_(first_settings(host)),
      drafts_(events) {
  if (host.offer.has_recogniser) {
    SpeechListener& listener = *this;
    sound_ = std::make_unique<SoundIn>(host.make_recogniser, listener);
    sound_->detect_turns(settings_.turn_detection);
  }
  if (!settings_.voice.empty()) new_voice_ = host.make_voice(settings_.voice);
  events_.send("session.created", {{"session", settings_.json(id_, host_.offer)}});
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

RealtimeConversation::~RealtimeConversation() {
  sound_.reset();
  thread_.request_stop();
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    turn_stop_.request_stop();
  }
  thread_.join();
}

void RealtimeConversation::change() {
  has_changed_ = true;
  if (!response_) turn_stop_.request_stop();
  changed_.notify_all();
}

const ConversationItem& RealtimeConversation::append(ConversationItem item,
                                                     const std::string& previous) {
  const ConversationItem& added = items_.add(std::move(item), previous);
  const std::string before = items_.previous(added.id);
  const Json fields{{"previous_item_id", before.empty() ? Json() : Json(before)},
                    {"item", to_json(added)}};
  events_.send("conversation.item.added", fields);
  events_.send("conversation.item.done", fields);
  return added;
}

void RealtimeConversation::update(const Json& session) {
  // Only this thread changes the settings, and making a voice may take long.
  RealtimeSettings next = updated(session, settings_, host_.offer);
  std::unique_ptr<SpeechSynthesizer> voice;
  if (next.voice != settings_.voice) {
    try {
      voice = host_.make_voice(next.voice);
    } catch (const UserError& error) {
      throw ApiError({.param = "session.audio.output.voice", .code = "invalid_value"},
                     error.what());
    }
  }
  if (sound_) sound_->detect_turns(next.turn_detection);
  const std::lock_guard lock(mutex_);
  settings_ = std::move(next);
  if (voice) new_voice_ = std::move(voice);
  change();
  events_.send("session.updated", {{"session", settings_.json(id_, host_.offer)}});
}

void RealtimeConversation::add_item(const Json& item, const std::string& previous) {
  const std::lock_guard lock(mutex_);
  append(parse_item(item, "item"), previous);
  has_new_history_ = true;
  change();
}

void RealtimeConversation::send_item(const std::string& id) {
  const std::lock_guard lock(mutex_);
  events_.send("conversation.item.retrieved", {{"item", to_json(items_.find(id))}});
}

void RealtimeConversation::delete_item(const std::string& id) {
  const std::lock_guard lock(mutex_);
  items_.remove(id);
  has_new_history_ = true;
  change();
  events_.send("conversation.item.deleted", {{"item_id", id}});
}

void RealtimeConversation::truncate_item(const std::string& id, int64_t milliseconds) {
  const std::lock_guard lock(mutex_);
  if (response_ && response_->item().id == id) {
    truncation_ = milliseconds;
  } else {
    items_.truncate(id, milliseconds);
    has_new_history_ = true;
    change();
  }
  events_.send("conversation.item.truncated",
               {{"item_id", id}, {"content_index", 0}, {"audio_end_ms", milliseconds}});
}

void RealtimeConversation::hear(const TranscriptLine& line) {
  const std::lock_guard lock(mutex_);
  if (filter_.is_stale(line)) return;
  if (!line.is_final) {
    const std::string before = response_ ? "" : items_.pending();
    source_.push(is_blank(line.text) ? "" : joined(before, "\n", line.text), /*is_final=*/false);
    changed_.notify_all();
    return;
  }
  if (response_) begin_response(settings_, {});  // which refuses
  if (is_blank(line.text)) {
    source_.push("", /*is_final=*/false);
    throw ApiError({.param = "text", .code = "invalid_value"},
                   "invalid value for 'text': the turn has ended, and nothing was said");
  }
  append({.id = new_id("item_"), .role = "user", .text = line.text});
  begin_response(settings_, {});
}

void RealtimeConversation::respond(const Json& response) {
  const std::lock_guard lock(mutex_);
  Json metadata;
  const RealtimeSettings settings = for_response(response, settings_, host_.offer, metadata);
  if (settings.voice != settings_.voice) {
    throw ApiError({.param = "response.audio.output.voice", .code = "unsupported_value"},
                   "a response has the session's voice: change that by session.update");
  }
  if (num_commits_ > 0 && !response_ && !next_response_) {
    next_response_ = {settings, metadata};
  } else {
    begin_response(settings, metadata);
  }
}

void RealtimeConversation::begin_response(const RealtimeSettings& settings, const Json& metadata) {
  if (response_) {
    throw ApiError(
        {.code = "conversation_already_has_active_response"},
        fmt::format("the response {} is under way: wait for it, or cancel it", response_->id()));
  }
  if (end_code_ != 0) throw stopping();
  const std::string text = items_.pending();
  if (is_blank(text) && !items_.goes_on()) {
    throw ApiError({.code = "nothing_to_answer"},
                   "no message of the user waits for an answer: add one first");
  }
  response_ = std::make_shared<RealtimeResponse>(events_, settings, metadata, conversation_id_,
                                                 items_.last_id());
  source_.push(text, /*is_final=*/true);
  changed_.notify_all();
}

void RealtimeConversation::cancel(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!response_ || (!id.empty() && id != response_->id())) {
    throw ApiError({.param = id.empty() ? "" : "response_id", .code = "response_cancel_not_active"},
                   "there is no such response under way");
  }
  interrupt("client_cancelled");
}

void RealtimeConversation::end(int code, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  end_code_ = code;
  end_reason_ = reason;
  if (!response_) events_.close(code, reason);
}

std::shared_ptr<RealtimeResponse> RealtimeConversation::response() const {
  const std::lock_guard lock(mutex_);
  return response_;
}

bool RealtimeConversation::wants(const char* events) const {
  const std::lock_guard lock(mutex_);
  return settings_.events.contains(events);
}

void RealtimeConversation::work(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const Baton::Hold hold(host_.baton);
  try {
    auto made = std::make_unique<RealtimeSpeaker>(host_.baton, host_.clock, host_.ahead,
                                                  [this](std::span<const float> samples) {
                                                    if (const auto current = response())
                                                      current->add_sound(samples);
                                                  });
    RealtimeSpeaker& speaker = *made;
    Session session(host_.session, host_.engine, host_.tokenizer, std::move(made), host_.clock);
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
}

bool RealtimeConversation::wait_for_work(const std::stop_token& stop) {
  const Baton::Rest rest(host_.baton);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return has_changed_ || !source_.is_empty(); });
  return !stop.stop_requested();
}

void RealtimeConversation::prepare(Session& session, RealtimeSpeaker& speaker) {
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
    has_changed_ = false;
    wanted = response_ ? response_->settings() : settings_;
    voice = std::move(new_voice_);
    system = joined(wanted.instructions, "\n\n", items_.system_text());
    if (std::exchange(has_new_history_, false)) history = items_.history();
  }
  if (voice) speaker.use(std::move(voice));
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
  if (history) session.set_history(*history, stop);
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
    return fail(to_api_error(Error("{}", *result.error)));
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

void RealtimeConversation::finish_response(const RealtimeResponse::End& end, const TokenIds& ids) {
  const bool is_failed = end.status == "failed";
  if (is_failed) items_.forget_pending();
  std::string before = response_->previous();  // which may have been deleted
  if (!items_.contains(before)) before.clear();
  for (ConversationItem& item : response_->finish(end)) {
    if (!item.call) item.ids = ids;
    item.is_forgotten = is_failed;
    before = items_.add(std::move(item), before).id;
  }
  const std::string message = response_->item().id;
  if (truncation_ && items_.contains(message) && items_.find(message).num_samples > 0) {
    items_.truncate(message, *truncation_);
    has_new_history_ = true;
  }
  truncation_.reset();
  response_.reset();
  is_cancelled_ = false;
  has_changed_ = true;  // what was for this response only
  if (end_code_ != 0) return events_.close(end_code_, end_reason_);
  begin_next_response();
}

void RealtimeConversation::clear_up() {
  const std::lock_guard lock(mutex_);
  has_new_history_ = true;  // what the turn had cached goes
  has_changed_ = true;
  if (!is_cancelled_ || !response_) return;
  source_.drop_final();
  finish_response(
      {.status = "cancelled", .details = {{"type", "cancelled"}, {"reason", cancel_reason_}}});
}

void RealtimeConversation::fail(const ApiError& error) {
  const std::lock_guard lock(mutex_);
  has_new_history_ = true;
  if (!response_) return events_.send_error(error);
  source_.drop_final();
  Json told = Json::parse(error.json())["error"];
  finish_response({.status = "failed", .details = {{"type", "failed"}, {"error", told}}});
}

}  // namespace predgen
