#include "serve/realtime/realtime_conversation.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace predgen::serve {
namespace {

RealtimeSettings first_settings(const RealtimeHost& host) {
  return {.instructions = host.session.system_prompt,
          .has_audio = host.offer.voice != nullptr,
          .voice = host.offer.voice ? host.offer.voice->names().front() : "",
          .turn_detection = {.end = {.is_detected = host.offer.has_recogniser}},
          .speculates = host.session.turn.work != InputTimeWork::kCascade};
}

RealtimeResponse::End cancelled(const char* reason) {
  return {.status = "cancelled", .details = {{"type", "cancelled"}, {"reason", reason}}};
}

}  // namespace

RealtimeConversation::RealtimeConversation(const RealtimeHost& host, const EventSender& events,
                                           std::string client)
    : host_(host),
      events_(events),
      client_(std::move(client)),
      source_(host.baton, host.clock),
      settings_(first_settings(host)),
      is_speaking_(host.metrics.speaking),
      is_answering_(host.metrics.answering),
      drafts_(events) {
  if (host.offer.has_recogniser) {
    SpeechListener& listener = *this;
    sound_ = std::make_unique<SoundIn>(host.make_recogniser, host.clock, listener);
    sound_->detect_turns(settings_.turn_detection);
  }
  if (host.offer.voice) new_voice_ = host.offer.voice->synthesizer(settings_.voice);
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
  announce(added);
  return added;
}

void RealtimeConversation::announce(const ConversationItem& added) {
  const std::string before = items_.previous(added.id);
  const Json fields{{"previous_item_id", before.empty() ? Json() : Json(before)},
                    {"item", to_json(added)}};
  events_.send("conversation.item.added", fields);
  events_.send("conversation.item.done", fields);
}

void RealtimeConversation::update(const Json& session) {
  // Only this thread changes the settings, and making a voice may take long.
  RealtimeSettings next = updated(session, settings_, host_.offer);
  std::unique_ptr<SpeechSynthesizer> voice;
  if (next.voice != settings_.voice) {
    try {
      voice = host_.offer.voice->synthesizer(next.voice);
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
  ConversationItem added = parse_item(item, "item");
  if (!host_.offer.has_tools && (added.call || added.role == "tool")) {
    RequestFields::fail_unsupported(
        "item.type", "can be message only: the model's chat template has no functions");
  }
  append(std::move(added), previous);
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
  check_length(line);
  is_speaking_.set(!line.is_final && !is_blank(line.text));
  if (!line.is_final) {
    const std::string before = response_ ? "" : items_.pending();
    source_.push(is_blank(line.text) ? "" : joined(before, "\n", line.text), /*is_final=*/false);
    changed_.notify_all();
    return;
  }
  if (end_code_ != 0) throw stopping();
  if (is_blank(line.text)) {
    source_.push("", /*is_final=*/false);
    throw ApiError({.param = "text", .code = "invalid_value"},
                   "invalid value for 'text': the turn has ended, and nothing was said");
  }
  append({.id = new_id("item_"), .role = "user", .text = line.text});
  if (!response_) return begin_response(settings_, {});
  source_.push("", /*is_final=*/false);
  next_response_ = {settings_, {}};
}

void RealtimeConversation::check_length(const TranscriptLine& line) {
  const size_t before = response_ ? 0 : items_.pending().size();
  if (before + line.text.size() <= kMaxTurnBytes) return;
  is_speaking_.set(false);
  source_.push(response_ ? "" : items_.pending(), /*is_final=*/false);
  changed_.notify_all();
  throw ApiError(
      {.param = "text", .code = "turn_too_long"},
      fmt::format("the turn's text has more than {} bytes, and is lost: end turns earlier",
                  kMaxTurnBytes));
}

void RealtimeConversation::respond(const Json& response) {
  const std::lock_guard lock(mutex_);
  Json metadata;
  const RealtimeSettings settings = for_response(response, settings_, host_.offer, metadata);
  if (settings.voice != settings_.voice) {
    throw ApiError({.param = "response.audio.output.voice", .code = "unsupported_value"},
                   "a response has the session's voice: change that by session.update");
  }
  if (next_response_) {
    throw ApiError({.code = "conversation_already_has_active_response"},
                   "a response waits to begin: wait for it, or cancel it");
  }
  if (num_commits_ > 0 && !response_) {
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
  if (text.size() > kMaxTurnBytes) {
    throw ApiError({.code = "turn_too_long"},
                   fmt::format("the messages that wait for an answer have more than {} bytes "
                               "together: delete some",
                               kMaxTurnBytes));
  }
  response_ = std::make_shared<RealtimeResponse>(events_, settings, metadata, conversation_id_,
                                                 items_.last_id());
  is_answering_.set(true);
  source_.push(text, /*is_final=*/true);
  is_blocked_ = false;
  changed_.notify_all();
}

void RealtimeConversation::cancel(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!response_ && next_response_ && id.empty()) {
    const NextResponse next = *std::exchange(next_response_, std::nullopt);
    RealtimeResponse waiting(events_, next.settings, next.metadata, conversation_id_,
                             items_.last_id());
    waiting.finish(cancelled("client_cancelled"));
    return;
  }
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

void RealtimeConversation::finish_response(const RealtimeResponse::End& end, const TokenIds& ids) {
  const bool is_failed = end.status == "failed";
  if (is_failed) items_.forget_pending();
  std::string before = response_->previous();  // which may have been deleted
  if (!items_.contains(before)) before.clear();
  for (ConversationItem& item : response_->finish(end)) {
    if (!item.call) item.ids = ids;
    item.is_forgotten = is_failed;
    item.is_own = true;
    before = items_.add(std::move(item), before).id;
  }
  const std::string message = response_->item().id;
  if (truncation_ && items_.contains(message) && items_.find(message).num_samples > 0) {
    items_.truncate(message, *truncation_);
    has_new_history_ = true;
  }
  truncation_.reset();
  response_.reset();
  is_answering_.set(false);
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
  finish_response(cancelled(cancel_reason_));
}

void RealtimeConversation::fail(const ApiError& error) {
  const std::lock_guard lock(mutex_);
  has_new_history_ = true;
  if (!response_) {
    is_blocked_ = true;  // the words that it was for are still there
    return events_.send_error(error);
  }
  source_.drop_final();
  Json told = Json::parse(error.json())["error"];
  finish_response({.status = "failed", .details = {{"type", "failed"}, {"error", told}}});
}

}  // namespace predgen::serve
