#include "serve/realtime/sound_in.h"

#include <vector>

#include "core/base64.h"
#include "serve/new_id.h"

namespace predgen::serve {
namespace {

ApiError to_api_error(const SoundError& error) {
  ApiError::Kind kind;
  switch (error.kind()) {
    case SoundError::Kind::kTurnTooLong:
      kind = {.param = "audio", .code = "input_audio_buffer_too_long"};
      break;
    case SoundError::Kind::kTurnTooShort:
      kind = {.code = "input_audio_buffer_commit_empty"};
      break;
    case SoundError::Kind::kTooManyTurns:
      kind = {.status = 429, .type = "rate_limit_error", .code = "too_many_commits"};
      break;
    case SoundError::Kind::kLost:
      kind = {.status = 503, .type = "server_error", .code = "recogniser_failed"};
      break;
  }
  return ApiError(kind, error.what());
}

}  // namespace

SoundIn::SoundIn(const MakeRecogniser& make_recogniser, Clock& clock, SpeechListener& listener)
    : listener_(listener), turns_(make_recogniser, kRealtimeRate, clock, *this) {
  decoder_.emplace(LineFormat());
}

void SoundIn::detect_turns(const TurnDetection& detection) {
  creates_response_ = detection.creates_response;
  interrupts_response_ = detection.interrupts_response;
  turns_.set_end(detection.end);
}

void SoundIn::set_format(const LineFormat& format) {
  if (decoder_->format() != format) decoder_.emplace(format);
}

void SoundIn::append(const std::string& base64) {
  const std::optional<std::string> bytes = from_base64(base64);
  if (!bytes) RequestFields::fail_value("audio", "must be base64");
  add(decoder_->decode(*bytes));
}

void SoundIn::add(std::span<const float> samples) {
  try {
    turns_.add(samples);
  } catch (const SoundError& error) {
    throw to_api_error(error);
  }
}

void SoundIn::commit() {
  add(decoder_->finish());
  try {
    turns_.commit();
  } catch (const SoundError& error) {
    throw to_api_error(error);
  }
}

void SoundIn::clear() {
  decoder_->clear();
  turns_.clear();
}

void SoundIn::on_speech(int64_t number, int64_t milliseconds) {
  item_ = {.turn = number, .id = new_id("item_")};
  listener_.on_speech(item_->id, milliseconds, interrupts_response_);
}

void SoundIn::on_turn(const RecognisedTurn& turn) {
  SpokenTurn spoken{turn};
  const bool is_known = item_ && item_->turn == turn.number;
  spoken.item = is_known ? item_->id : new_id("item_");
  spoken.responds = creates_response_ && !turn.was_committed;
  listener_.on_turn(spoken);
}

void SoundIn::on_lost(const SoundError& why) { listener_.on_lost(to_api_error(why)); }

}  // namespace predgen::serve
