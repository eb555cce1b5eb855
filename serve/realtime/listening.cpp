#include "serve/realtime/listening.h"

#include <utility>

#include "core/base64.h"
#include "core/text.h"
#include "serve/new_id.h"

namespace predgen::serve {
namespace {

ApiError sound_error(const SoundError& error) {
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

/// Does it; SoundErrors become ApiErrors.
template <class Work>
void with_sound(const Work& work) {
  try {
    work();
  } catch (const SoundError& error) {
    throw sound_error(error);
  }
}

}  // namespace

Listening::Listening(const RealtimeHost& host, ConversationListener& listener, SessionInbox& inbox,
                     Dialogue& dialogue)
    : listener_(listener),
      inbox_(inbox),
      dialogue_(dialogue),
      is_speaking_(host.metrics.speaking),
      clock_(host.clock),
      // A client has no way to pause: its answer ends with the first words.
      taking_({.language = host.offer.language, .until_left = Seconds(0)}) {
  if (!host.offer.has_recogniser) return;
  RecognisedTurnHandler& self = *this;
  turns_.emplace(host.make_recogniser, kRealtimeRate, host.clock, self);
  const TurnConfig& turn = host.session.turn;
  if (turn.waits_for_pauses || turn.work == InputTimeWork::kPreempt) {
    turns_->set_on_pause([this](const std::string& words) { on_pause(words); });
  }
  use(dialogue.settings());
}

void Listening::hear(const TranscriptLine& line) {
  const Lock lock(dialogue_.mutex());
  if (filter_.is_stale(line)) return;
  check_length(line);
  is_speaking_.set(!line.is_final && !is_blank(line.text));
  if (!line.is_final) {
    return inbox_.hear(is_blank(line.text) ? "" : joined(dialogue_.unanswered(), "\n", line.text));
  }
  dialogue_.check_open();
  if (is_blank(line.text)) {
    inbox_.hear("");
    throw ApiError({.param = "text", .code = "invalid_value"},
                   "invalid value for 'text': the turn has ended, and nothing was said");
  }
  dialogue_.append({.id = new_id("item_"), .role = "user", .text = line.text});
  dialogue_.respond_to_words();
}

void Listening::check_length(const TranscriptLine& line) {
  const std::string before = dialogue_.unanswered();
  if (joined(before, "\n", line.text).size() <= kMaxTurnBytes) return;
  is_speaking_.set(false);
  inbox_.hear(before);
  throw ApiError(
      {.param = "text", .code = "turn_too_long"},
      fmt::format("the turn's text has more than {} bytes, and is lost: end turns earlier",
                  kMaxTurnBytes));
}

void Listening::use(const RealtimeSettings& settings) {
  if (!turns_) return;
  if (decoder_->format() != settings.input_format) decoder_.emplace(settings.input_format);
  const TurnDetection& detection = settings.turn_detection;
  creates_response_ = detection.creates_response;
  interrupts_response_ = detection.interrupts_response;
  EndOfTurn end = detection.end;
  end.by_words = end.by_words && settings.speculates;  // else none reports it
  turns_->set_end(end);
}

void Listening::expect_end(const std::string& words, double probability) {
  if (!turns_) return;
  size_t before = 0;  // of earlier words, before these words
  {
    const Lock lock(dialogue_.mutex());
    before = joined(dialogue_.unanswered(), "\n", "x").size() - 1;
  }
  if (before <= words.size()) turns_->expect_end(words.substr(before), probability);
}

void Listening::expect_sound() {
  if (!turns_) {
    throw ApiError({.code = "no_recogniser"},
                   "sound is not understood here: no recogniser is configured. Send the words by "
                   "predgen.transcript.update, or by conversation.item.create");
  }
  const Lock lock(dialogue_.mutex());
  dialogue_.check_open();
}

void Listening::append_sound(const std::string& base64) {
  expect_sound();
  const std::optional<std::string> bytes = from_base64(base64);
  if (!bytes) RequestFields::fail_value("audio", "must be base64");
  with_sound([&] { turns_->add(decoder_->decode(*bytes)); });
}

void Listening::commit_sound() {
  expect_sound();
  {
    // The result may be known before commit() returns.
    const Lock lock(dialogue_.mutex());
    dialogue_.expect_turns(1);
  }
  try {
    with_sound([&] {
      turns_->add(decoder_->finish());
      turns_->commit();
    });
  } catch (...) {
    const Lock lock(dialogue_.mutex());
    dialogue_.expect_turns(-1);
    dialogue_.begin_next_response();
    throw;
  }
}

void Listening::clear_sound() {
  expect_sound();
  decoder_->clear();
  turns_->clear();
  {
    const Lock lock(dialogue_.mutex());
    is_speaking_.set(false);
    forget_speech();
  }
  listener_.on_event(SoundCleared{});
}

void Listening::on_speech(int64_t number, int64_t milliseconds) {
  item_ = {.turn = number, .id = new_id("item_")};
  const Lock lock(dialogue_.mutex());
  is_speaking_.set(true);
  speech_ = {.started = {item_->id, milliseconds}, .interrupts = interrupts_response_};
}

void Listening::note_speech(const std::string& words) {
  if (!speech_) return;
  const Seconds now = clock_.now();
  const bool is_answering = dialogue_.is_answering(now);
  if (is_answering && !taking_.is_answering()) taking_.on_taken(now);
  if (!is_answering) taking_.on_silent();
  taking_.on_words(now, words);
  if (taking_.is_answering()) return;
  told_ = std::exchange(speech_, std::nullopt);
  if (!std::exchange(told_->is_told, true)) listener_.on_event(told_->started);
  if (told_->interrupts) dialogue_.give_way();
}

bool Listening::is_no_turn(const SpokenTurn& turn) {
  note_speech(turn.text);
  const bool is_untold = speech_ && !speech_->is_told;
  forget_speech();
  return is_untold;
}

void Listening::forget_speech() {
  speech_.reset();
  told_.reset();
  taking_.on_lost(clock_.now());
}

void Listening::on_words(const std::string& words) {
  {
    const Lock lock(dialogue_.mutex());
    note_speech(words);
  }
  TranscriptLine line;
  line.text = words;
  try {
    hear(line);
  } catch (const ApiError& error) {  // the recogniser goes on
    listener_.on_event(Failure{error});
  }
  if (!is_blank(words)) return;
  const Lock lock(dialogue_.mutex());
  take_back();
}

void Listening::take_back() {
  if (!told_) return;
  speech_ = told_;
  dialogue_.ask_again();
  dialogue_.begin_next_response();
}

void Listening::on_pause(const std::string& words) {
  const Lock lock(dialogue_.mutex());
  const std::string all = joined(dialogue_.unanswered(), "\n", words);
  if (all.size() <= kMaxTurnBytes) inbox_.pause(all);
}

void Listening::on_turn(const RecognisedTurn& recognised) {
  SpokenTurn turn{recognised};
  const bool is_known = item_ && item_->turn == turn.number;
  turn.item = is_known ? item_->id : new_id("item_");
  turn.responds = creates_response_ && !turn.was_committed;
  const Lock lock(dialogue_.mutex());
  if (turn.was_committed) {
    dialogue_.expect_turns(-1);
    forget_speech();
  }
  try {
    if (is_no_turn(turn)) {
      is_speaking_.set(false);
      inbox_.hear(dialogue_.unanswered());
      dialogue_.ask_again();
    } else {
      add_spoken(turn);
      if (turn.responds) dialogue_.queue_response();
    }
  } catch (const ApiError& error) {  // the conversation is too long
    listener_.on_event(Failure{error});
  }
  dialogue_.begin_next_response();
}

void Listening::add_spoken(const SpokenTurn& turn) {
  is_speaking_.set(false);
  ConversationItems& items = dialogue_.items();
  const ConversationItem& added = items.add({.id = turn.item,
                                             .role = "user",
                                             .text = turn.text,
                                             .is_forgotten = is_blank(turn.text),
                                             .is_spoken = true});
  listener_.on_event(TurnSpoken{turn, added, items.previous(added.id)});
  inbox_.hear(dialogue_.unanswered());
}

void Listening::on_lost(const SoundError& why) {
  const ApiError error = sound_error(why);
  const Lock lock(dialogue_.mutex());
  dialogue_.expect_no_turns();
  is_speaking_.set(false);
  forget_speech();
  listener_.on_event(Failure{error});
  inbox_.hear(dialogue_.unanswered());
  dialogue_.ask_again();
  dialogue_.begin_next_response();
}

}  // namespace predgen::serve
