#include "serve/realtime/realtime_conversation.h"

#include <utility>

namespace predgen::serve {

RealtimeConversation::RealtimeConversation(const RealtimeHost& host, ConversationListener& listener,
                                           std::string client)
    : host_(host),
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

void RealtimeConversation::update(const RealtimeSettings& settings) {
  // Making a voice may take long, so the dialogue's mutex is not held meanwhile.
  std::unique_ptr<SpeechSynthesizer> voice;
  if (settings.voice != dialogue_.settings().voice) {
    try {
      voice = host_.offer.voice->synthesizer(settings.voice);
    } catch (const UserError& error) {
      throw ApiError({.param = "session.audio.output.voice", .code = "invalid_value"},
                     error.what());
    }
  }
  listening_.detect_turns(settings);
  dialogue_.update(settings, std::move(voice));
}

}  // namespace predgen::serve
