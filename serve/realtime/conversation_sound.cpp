#include <algorithm>
#include <utility>

#include "core/text.h"
#include "serve/realtime/realtime_conversation.h"

// What sound is to a conversation.
namespace predgen::serve {

SoundIn& RealtimeConversation::sound() {
  if (!sound_) {
    throw ApiError({.code = "no_recogniser"},
                   "sound is not understood here: no recogniser is configured. Send the words by "
                   "predgen.transcript.update, or by conversation.item.create");
  }
  const std::lock_guard lock(mutex_);
  if (end_code_ != 0) throw stopping();
  return *sound_;
}

ApiError RealtimeConversation::stopping() const {
  return ApiError({.status = 503, .type = "server_error", .code = "server_stopping"},
                  "the server stops: connect again");
}

void RealtimeConversation::commit_sound() {
  SoundIn& in = sound();
  {
    // What it comes to may be known before commit() returns.
    const std::lock_guard lock(mutex_);
    ++num_commits_;
  }
  try {
    in.commit();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    num_commits_ = std::max<int64_t>(0, num_commits_ - 1);
    begin_next_response();
    throw;
  }
}

void RealtimeConversation::clear_sound() {
  sound().clear();
  {
    const std::lock_guard lock(mutex_);
    is_speaking_.set(false);
  }
  events_.send("input_audio_buffer.cleared", Json::object());
}

void RealtimeConversation::interrupt(const char* reason) {
  if (std::exchange(is_cancelled_, true)) return;
  cancel_reason_ = reason;
  turn_stop_.request_stop();
}

void RealtimeConversation::on_speech(const std::string& item, int64_t milliseconds,
                                     bool interrupts) {
  const std::lock_guard lock(mutex_);
  is_speaking_.set(true);
  events_.send("input_audio_buffer.speech_started",
               {{"audio_start_ms", milliseconds}, {"item_id", item}});
  if (!interrupts) return;
  next_response_.reset();
  if (response_) interrupt("turn_detected");
}

void RealtimeConversation::on_words(const std::string& words) {
  TranscriptLine line;
  line.text = words;
  hear(line);
}

void RealtimeConversation::on_turn(const SpokenTurn& turn) {
  const std::lock_guard lock(mutex_);
  if (turn.was_committed) num_commits_ = std::max<int64_t>(0, num_commits_ - 1);
  try {
    add_spoken(turn);
    if (turn.responds) next_response_ = {settings_, {}};
  } catch (const ApiError& error) {  // the conversation is too long
    events_.send_error(error);
  }
  begin_next_response();
}

void RealtimeConversation::add_spoken(const SpokenTurn& turn) {
  is_speaking_.set(false);
  const ConversationItem& added = items_.add({.id = turn.item,
                                              .role = "user",
                                              .text = turn.text,
                                              .is_forgotten = is_blank(turn.text),
                                              .is_spoken = true});
  if (turn.stopped_at) {
    events_.send("input_audio_buffer.speech_stopped",
                 {{"audio_end_ms", *turn.stopped_at}, {"item_id", turn.item}});
  }
  const std::string before = items_.previous(turn.item);
  events_.send(
      "input_audio_buffer.committed",
      {{"previous_item_id", before.empty() ? Json() : Json(before)}, {"item_id", turn.item}});
  announce(added);
  const Json place{{"item_id", turn.item}, {"content_index", 0}};
  if (!turn.text.empty()) {
    Json delta = place;
    delta["delta"] = turn.text;
    events_.send("conversation.item.input_audio_transcription.delta", delta);
  }
  Json completed = place;
  completed["transcript"] = turn.text;
  completed["usage"] = {{"type", "duration"}, {"seconds", turn.seconds}};
  events_.send("conversation.item.input_audio_transcription.completed", completed);
  source_.push(response_ ? "" : items_.pending(), /*is_final=*/false);
  changed_.notify_all();
}

void RealtimeConversation::begin_next_response() {
  if (!next_response_ || response_ || num_commits_ > 0) return;
  const NextResponse next = *std::exchange(next_response_, std::nullopt);
  try {
    begin_response(next.settings, next.metadata);
  } catch (const ApiError& error) {
    events_.send_error(error);
  }
}

void RealtimeConversation::on_lost(const ApiError& error) {
  const std::lock_guard lock(mutex_);
  num_commits_ = 0;
  is_speaking_.set(false);
  events_.send_error(error);
  source_.push(response_ ? "" : items_.pending(), /*is_final=*/false);
  changed_.notify_all();
  begin_next_response();
}

}  // namespace predgen::serve
