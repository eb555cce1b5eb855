#include "serve/realtime/dialogue.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "hear/transcripts/transcript_lines.h"

namespace predgen::serve {
namespace {

using Ended = ConversationEnded;

constexpr Seconds kForever(std::numeric_limits<double>::infinity());

TurnDetection first_detection(const RealtimeOffer& offer) {
  TurnDetection detection{.end = {.is_detected = offer.has_recogniser}};
  if (offer.has_voice_activity) detection.end.waits = offer.waits;
  detection.end.by_words = offer.has_voice_activity;
  return detection;
}

RealtimeSettings first_settings(const RealtimeHost& host) {
  return {.instructions = host.session.system_prompt,
          .has_audio = host.offer.voice != nullptr,
          .voice = host.offer.voice ? host.offer.voice->names().front() : "",
          .turn_detection = first_detection(host.offer),
          .speculates = host.session.turn.work != InputTimeWork::kCascade};
}

/// Whether a turn planned for one of them also serves the other.
bool are_alike(const RealtimeSettings& one, const RealtimeSettings& other) {
  const auto plan = [](const RealtimeSettings& of) {
    return std::tie(of.instructions, of.has_audio, of.max_output_tokens, of.tools, of.tool_choice,
                    of.speculates, of.sampling);
  };
  return plan(one) == plan(other);
}

}  // namespace

Dialogue::Dialogue(const RealtimeHost& host, ConversationListener& listener,
                   Conversation& conversation)
    : listener_(listener),
      conversation_(conversation),
      settings_(first_settings(host)),
      is_answering_(host.metrics.answering) {
  if (host.offer.voice) voice_ = host.offer.voice->synthesizer(settings_.voice);
  listener_.on_event(SessionCreated{id_, settings_});
}

RealtimeSettings Dialogue::settings() const {
  const Lock lock(mutex_);
  return settings_;
}

void Dialogue::update(RealtimeSettings settings, std::unique_ptr<SpeechSynthesizer> voice) {
  const Lock lock(mutex_);
  settings_ = std::move(settings);
  if (voice) voice_ = std::move(voice);
  change();
  listener_.on_event(SessionUpdated{id_, settings_});
}

void Dialogue::change_history() {
  has_new_history_ = true;
  change();
}

void Dialogue::append(ConversationItem item, const std::string& previous) {
  const ConversationItem& added = items_.add(std::move(item), previous);
  listener_.on_event(ItemAdded{added, items_.previous(added.id)});
}

void Dialogue::add_item(ConversationItem item, const std::string& previous) {
  const Lock lock(mutex_);
  append(std::move(item), previous);
  change_history();
}

void Dialogue::retrieve_item(const std::string& id) {
  const Lock lock(mutex_);
  listener_.on_event(ItemRetrieved{items_.find(id)});
}

void Dialogue::delete_item(const std::string& id) {
  const Lock lock(mutex_);
  items_.remove(id);
  change_history();
  listener_.on_event(ItemDeleted{id});
}

void Dialogue::truncate_item(const std::string& id, int64_t milliseconds) {
  const Lock lock(mutex_);
  if (response_ && response_->item().id == id) {
    truncation_ = milliseconds;
  } else {
    items_.truncate(id, milliseconds);
    heard_until_ = Seconds(0);
    tell_answering();
    change_history();
  }
  listener_.on_event(ItemTruncated{id, milliseconds});
}

void Dialogue::respond(ResponseRequest request) {
  const Lock lock(mutex_);
  if (next_response_) {
    throw ApiError({.code = "conversation_already_has_active_response"},
                   "a response waits to begin: wait for it, or cancel it");
  }
  if (num_expected_ > 0 && !response_) {
    request.answers_words = true;
    next_response_ = std::move(request);
  } else {
    begin_response(request);
  }
}

void Dialogue::cancel(const std::string& id) {
  const Lock lock(mutex_);
  if (!response_ && next_response_ && id.empty()) {
    RealtimeResponse waiting(listener_, info(*std::exchange(next_response_, std::nullopt)));
    waiting.finish({.status = ResponseStatus::kCancelled});
    return;
  }
  if (!response_ || (!id.empty() && id != response_->info().id)) {
    // LiveKit's agents know this error by its first words.
    throw ApiError({.param = id.empty() ? "" : "response_id", .code = "response_cancel_not_active"},
                   "Cancellation failed: there is no such response under way");
  }
  interrupt(ResponseStatus::kCancelled);
}

void Dialogue::end() {
  const Lock lock(mutex_);
  is_ending_ = true;
  if (!response_) listener_.on_event(Ended{Ended::Reason::kServerStops});
}

void Dialogue::check_open() const {
  if (!is_ending_) return;
  throw ApiError({.status = 503, .type = "server_error", .code = "server_stopping"},
                 "the server stops: connect again");
}

std::string Dialogue::unanswered() const { return response_ ? "" : items_.pending(); }

void Dialogue::respond_to_words() {
  if (!response_) return begin_response({settings_});
  conversation_.hear("", "");
  queue_response();
}

void Dialogue::expect_turns(int64_t change) {
  num_expected_ = std::max<int64_t>(0, num_expected_ + change);
}

ResponseInfo Dialogue::info(const ResponseRequest& request) const {
  return {.id = "",
          .conversation = conversation_id_,
          .settings = request.settings,
          .metadata = request.metadata,
          .previous = items_.last_id()};
}

void Dialogue::begin_response(const ResponseRequest& request) {
  if (response_) {
    throw ApiError({.code = "conversation_already_has_active_response"},
                   fmt::format("the response {} is under way: wait for it, or cancel it",
                               response_->info().id));
  }
  check_open();
  const std::string text = items_.pending();  // blank: the assistant speaks by itself
  if (is_blank(text) && request.answers_words && !items_.goes_on()) {
    throw ApiError({.code = "nothing_to_answer"}, "no words of the user were understood");
  }
  if (text.size() > kMaxTurnBytes) {
    throw ApiError({.code = "turn_too_long"},
                   fmt::format("the messages that wait for an answer have more than {} bytes "
                               "together: delete some",
                               kMaxTurnBytes));
  }
  is_owed_ = false;
  conversation_.set_answering(kForever);  // before the client is told
  response_ = std::make_shared<RealtimeResponse>(listener_, info(request));
  is_answering_.set(true);
  // A turn planned without this response would take its words.
  if (!are_alike(request.settings, settings_)) conversation_.change(/*stops_turn=*/true);
  is_unasked_ = is_blank(text);
  conversation_.ask(text);
}

void Dialogue::ask_again() {
  if (!is_owed_ || next_response_ || !settings_.turn_detection.creates_response) return;
  queue_response();
  next_response_->is_again = true;
}

void Dialogue::begin_next_response() {
  if (!next_response_ || response_ || num_expected_ > 0) return;
  if (next_response_->is_again && is_blank(items_.pending())) return next_response_.reset();
  try {
    begin_response(*std::exchange(next_response_, std::nullopt));
  } catch (const ApiError& error) {
    listener_.on_event(Failure{error});
  }
}

void Dialogue::tell_answering() {
  const Seconds until = !response_ ? heard_until_ : stopped_ ? Seconds(0) : kForever;
  conversation_.set_answering(until);
}

void Dialogue::return_voice(std::unique_ptr<SpeechSynthesizer> voice) {
  const Lock lock(mutex_);
  if (!voice_) voice_ = std::move(voice);
}

void Dialogue::give_way() {
  heard_until_ = Seconds(0);
  next_response_.reset();
  tell_answering();
  if (!response_) return;
  is_owed_ = !stopped_;  // the client may have cancelled it already
  interrupt(ResponseStatus::kInterrupted);
}

void Dialogue::interrupt(ResponseStatus reason) {
  if (stopped_) return;
  stopped_ = reason;
  tell_answering();
  conversation_.stop_turn();
}

void Dialogue::stop() {
  const Lock lock(mutex_);
  interrupt(ResponseStatus::kCancelled);
}

Dialogue::Plan Dialogue::plan_turn() {
  const Lock lock(mutex_);
  Plan plan{.stop = conversation_.begin_turn(/*is_stopped=*/stopped_.has_value()),
            .voice = std::move(voice_),
            .settings = response_ ? response_->info().settings : settings_};
  plan.system = joined(plan.settings.instructions, "\n\n", items_.system_text());
  if (std::exchange(has_new_history_, false)) plan.history = items_.history();
  return plan;
}

std::shared_ptr<RealtimeResponse> Dialogue::response() const {
  const Lock lock(mutex_);
  return response_;
}

bool Dialogue::wants(const char* events) const {
  const Lock lock(mutex_);
  return settings_.events.contains(events);
}

void Dialogue::finish(const ResponseEnd& end, const TokenIds& ids) {
  const Lock lock(mutex_);
  // The session does not know the ids of calls, and has two answers in a row as two.
  if (!end.calls.empty() || is_unasked_) has_new_history_ = true;
  finish_response(end, ids);
}

void Dialogue::finish_response(const ResponseEnd& end, const TokenIds& ids) {
  heard_until_ = stopped_ || truncation_ ? Seconds(0) : response_->heard_until();
  conversation_.set_answering(heard_until_);  // before the client is told
  const bool is_failed = end.status == ResponseStatus::kFailed;
  const bool has_acted = !end.rounds.empty();  // what was done is not asked for again
  if (is_failed && !has_acted) items_.forget_pending();
  const bool is_unheard = end.status == ResponseStatus::kInterrupted &&
                          response_->info().settings.has_audio &&
                          response_->item().num_samples == 0;
  std::string before = response_->info().previous;  // which may have been deleted
  if (!items_.contains(before)) before.clear();
  for (ConversationItem& item : response_->finish(end)) {
    if (!item.call) item.ids = ids;
    if (is_unheard && has_acted) item.text.clear();
    item.is_forgotten = (is_failed || is_unheard) && !has_acted;
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
  stopped_.reset();
  conversation_.change(/*stops_turn=*/false);  // what was for this response only
  if (is_ending_) return listener_.on_event(Ended{Ended::Reason::kServerStops});
  begin_next_response();
}

void Dialogue::clear_up(std::vector<Message> rounds) {
  const Lock lock(mutex_);
  has_new_history_ = true;  // what the turn had cached goes
  conversation_.change(/*stops_turn=*/false);
  if (!stopped_ || !response_) return;
  conversation_.withdraw();
  finish_response({.status = *stopped_, .rounds = std::move(rounds)});
}

void Dialogue::fail(const ApiError& error, std::vector<Message> rounds) {
  const Lock lock(mutex_);
  has_new_history_ = true;
  if (!response_) {
    conversation_.block();  // the words that it was for are still there
    return listener_.on_event(Failure{error});
  }
  conversation_.withdraw();
  finish_response({.status = ResponseStatus::kFailed, .error = error, .rounds = std::move(rounds)});
}

}  // namespace predgen::serve
