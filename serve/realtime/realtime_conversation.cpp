#include "serve/realtime/realtime_conversation.h"

#include <utility>
#include <variant>

namespace predgen::serve {

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
  const TurnConfig& turn = host.session.turn;
  return {.make_recogniser = host.offer.has_recogniser ? host.make_recogniser : MakeRecogniser(),
          .sample_rate = sample_rate,
          // A client has no way to pause: its answer ends with the first words.
          .rules = {.language = host.offer.language, .until_left = Seconds(0)},
          .tells_pauses = turn.waits_for_pauses || turn.work == InputTimeWork::kPreempt,
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
