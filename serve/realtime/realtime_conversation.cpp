#include "serve/realtime/realtime_conversation.h"

#include <utility>
#include <variant>

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

DialogueInput::DialogueInput(const RealtimeHost& host, ConversationListener& listener,
                             Conversation& conversation, Dialogue& dialogue)
    : listener_(listener),
      conversation_(conversation),
      dialogue_(dialogue),
      is_speaking_(host.metrics.speaking) {}

void DialogueInput::hear(const TranscriptLine& line) {
  const Lock lock(dialogue_.mutex());
  if (filter_.is_stale(line)) return;
  check_length(line);
  is_speaking_.set(!line.is_final && !is_blank(line.text));
  if (!line.is_final) {
    const bool is_blank_line = is_blank(line.text);
    return conversation_.hear(is_blank_line ? "" : dialogue_.unanswered(),
                              is_blank_line ? "" : line.text);
  }
  dialogue_.check_open();
  if (is_blank(line.text)) {
    conversation_.hear("", "");
    throw ApiError({.param = "text", .code = "invalid_value"},
                   "invalid value for 'text': the turn has ended, and nothing was said");
  }
  dialogue_.append({.id = new_id("item_"), .role = "user", .text = line.text});
  dialogue_.respond_to_words();
}

void DialogueInput::check_length(const TranscriptLine& line) {
  const std::string before = dialogue_.unanswered();
  if (joined(before, "\n", line.text).size() <= kMaxTurnBytes) return;
  is_speaking_.set(false);
  conversation_.hear(before, "");
  throw ApiError(
      {.param = "text", .code = "turn_too_long"},
      fmt::format("the turn's text has more than {} bytes, and is lost: end turns earlier",
                  kMaxTurnBytes));
}

void DialogueInput::use(const RealtimeSettings& settings) {
  if (!conversation_.has_recogniser()) return;
  if (decoder_->format() != settings.input_format) decoder_.emplace(settings.input_format);
  const TurnDetection& detection = settings.turn_detection;
  creates_response_ = detection.creates_response;
  interrupts_response_ = detection.interrupts_response;
  EndOfTurn end = detection.end;
  end.by_words = end.by_words && settings.speculates;  // else none reports it
  conversation_.set_end(end);
}

void DialogueInput::expect_sound() {
  if (!conversation_.has_recogniser()) {
    throw ApiError({.code = "no_recogniser"},
                   "sound is not understood here: no recogniser is configured. Send the words by "
                   "predgen.transcript.update, or by conversation.item.create");
  }
  const Lock lock(dialogue_.mutex());
  dialogue_.check_open();
}

void DialogueInput::append_sound(const std::string& base64) {
  expect_sound();
  const std::optional<std::string> bytes = from_base64(base64);
  if (!bytes) RequestFields::fail_value("audio", "must be base64");
  with_sound([&] { conversation_.add_sound(decoder_->decode(*bytes)); });
}

void DialogueInput::add_sound(std::span<const float> samples) {
  expect_sound();
  with_sound([&] { conversation_.add_sound(samples); });
}

void DialogueInput::commit_sound() {
  expect_sound();
  {
    // The result may be known before commit() returns.
    const Lock lock(dialogue_.mutex());
    dialogue_.expect_turns(1);
  }
  try {
    with_sound([&] {
      conversation_.add_sound(decoder_->finish());
      conversation_.commit_sound();
    });
  } catch (...) {
    const Lock lock(dialogue_.mutex());
    dialogue_.expect_turns(-1);
    dialogue_.begin_next_response();
    throw;
  }
}

void DialogueInput::clear_sound() {
  expect_sound();
  decoder_->clear();
  conversation_.clear_sound();
  {
    const Lock lock(dialogue_.mutex());
    is_speaking_.set(false);
  }
  listener_.on_event(SoundCleared{});
}

void DialogueInput::take(const SpeechBegun& speech) {
  const Lock lock(dialogue_.mutex());
  is_speaking_.set(true);
  if (!speech.is_again) {
    item_ = {.turn = speech.turn, .id = new_id("item_")};
    listener_.on_event(SpeechStarted{item_->id, speech.milliseconds});
  }
  if (interrupts_response_) dialogue_.give_way();
}

void DialogueInput::take(const WordsHeard& heard) {
  TranscriptLine line;
  line.text = heard.words;
  try {
    hear(line);
  } catch (const ApiError& error) {  // the recogniser goes on
    listener_.on_event(Failure{error});
  }
  if (!is_blank(heard.words)) return;
  const Lock lock(dialogue_.mutex());
  dialogue_.ask_again();
  dialogue_.begin_next_response();
}

void DialogueInput::take(const TurnHeard& heard) {
  SpokenTurn turn{heard.turn};
  const bool is_known = item_ && item_->turn == turn.number;
  turn.item = is_known ? item_->id : new_id("item_");
  turn.responds = creates_response_ && !turn.was_committed;
  const Lock lock(dialogue_.mutex());
  if (turn.was_committed) dialogue_.expect_turns(-1);
  try {
    if (!heard.is_turn) {
      is_speaking_.set(false);
      conversation_.hear(dialogue_.unanswered(), "");
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

void DialogueInput::add_spoken(const SpokenTurn& turn) {
  is_speaking_.set(false);
  ConversationItems& items = dialogue_.items();
  const ConversationItem& added = items.add({.id = turn.item,
                                             .role = "user",
                                             .text = turn.text,
                                             .is_forgotten = is_blank(turn.text),
                                             .is_spoken = true});
  listener_.on_event(TurnSpoken{turn, added, items.previous(added.id)});
  conversation_.hear(dialogue_.unanswered(), "");
}

void DialogueInput::take(const SpeechLost& lost) {
  const ApiError error = sound_error({SoundError::Kind::kLost, lost.why});
  const Lock lock(dialogue_.mutex());
  dialogue_.expect_no_turns();
  is_speaking_.set(false);
  listener_.on_event(Failure{error});
  conversation_.hear(dialogue_.unanswered(), "");
  dialogue_.ask_again();
  dialogue_.begin_next_response();
}

namespace {

/// Events that a client has no use for.
struct Nobody {
  static void take(const SoundStuck&) {}
  static void take(const RoundsDropped&) {}
  static void take(const NothingHeard&) {}
  static void take(const AwakeChanged&) {}
};

Conversation::Options conversation_options(const RealtimeHost& host, int sample_rate,
                                           ToolRounds* tools) {
  return {.make_recogniser = host.offer.has_recogniser ? host.make_recogniser : MakeRecogniser(),
          .sample_rate = sample_rate,
          // A client has no way to pause: its answer ends with the first words.
          .rules = {.language = host.offer.language, .until_left = Seconds(0)},
          .engine_lock = &host.engine_lock,
          .asks = false,
          .tools = tools};
}

}  // namespace

RealtimeConversation::RealtimeConversation(const RealtimeHost& host,
                                           serve::ConversationListener& listener,
                                           std::string client, int sample_rate)
    : host_(host),
      listener_(listener),
      dialogue_(host, listener, conversation_),
      loop_(host, listener, conversation_, dialogue_, std::move(client)),
      input_(host, listener, conversation_, dialogue_),
      conversation_(conversation_options(host, sample_rate, loop_.tools()), *this, host.clock, {}) {
  input_.use(dialogue_.settings());
  thread_ = std::jthread([this](const std::stop_token& stop) { loop_.run(stop); });
}

RealtimeConversation::~RealtimeConversation() {
  thread_.request_stop();
  dialogue_.stop();
}

void RealtimeConversation::on_event(const predgen::ConversationEvent& event) {
  const auto take = [this](const auto& one) {
    if constexpr (requires { loop_.take(one); }) {
      loop_.take(one);
    } else if constexpr (requires { input_.take(one); }) {
      input_.take(one);
    } else {
      Nobody::take(one);
    }
  };
  std::visit(take, event);
}

void RealtimeConversation::update(RealtimeSettings settings, Refusals refusals,
                                  const std::string& event_id) {
  // Making a voice may take long, so the dialogue's mutex is not held meanwhile.
  std::unique_ptr<SpeechSynthesizer> voice;
  const RealtimeSettings before = dialogue_.settings();
  if (settings.voice != before.voice || settings.speed != before.speed) {
    try {
      voice = host_.offer.voice->synthesizer(settings.voice, settings.speed);
    } catch (const UserError& error) {
      refusals.note({.param = "session.audio.output.voice", .code = "invalid_value"}, error.what());
      settings.voice = before.voice;
      settings.speed = before.speed;
    }
  }
  report(refusals, event_id);
  input_.use(settings);
  dialogue_.update(std::move(settings), std::move(voice));
}

void RealtimeConversation::report(const Refusals& refusals, const std::string& event_id) {
  if (!refusals.empty()) listener_.on_event(Limited{refusals, event_id});
}

}  // namespace predgen::serve
