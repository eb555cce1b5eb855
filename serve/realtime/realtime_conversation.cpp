#include "serve/realtime/realtime_conversation.h"

#include <utility>

namespace predgen::serve {

RealtimeConversation::RealtimeConversation(const RealtimeHost& host, ConversationListener& listener,
                                           std::string client)
    : host_(host),
      listener_(listener),
      inbox_(host.baton, host.clock),
      dialogue_(host, listener, inbox_),
      loop_(host, listener, inbox_, dialogue_, std::move(client)),
      listening_(host, listener, inbox_, dialogue_) {
  if (!host.offer.has_recogniser) return;
  loop_.set_on_end_by_words([this](const std::string& words, double probability) {
    listening_.expect_end(words, probability);
  });
}

RealtimeConversation::~RealtimeConversation() { loop_.set_on_end_by_words({}); }

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
  listening_.use(settings);
  dialogue_.update(std::move(settings), std::move(voice));
}

void RealtimeConversation::report(const Refusals& refusals, const std::string& event_id) {
  if (!refusals.empty()) listener_.on_event(Limited{refusals, event_id});
}

}  // namespace predgen::serve
