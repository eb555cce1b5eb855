#pragma once

#include <string>
#include <thread>

#include "runtime/converse/conversation.h"
#include "serve/realtime/dialogue.h"
#include "serve/realtime/dialogue_input.h"
#include "serve/realtime/turn_loop.h"

namespace predgen::serve {

/// A client's conversation: one that it steers itself, with a dialogue of items and settings, and
/// the thread that answers. Used by one thread, except for words from a recogniser. Lock order: the
/// recogniser's, the dialogue's, the conversation's or a response's, the speaker's. A stop callback
/// must not call the dialogue.
class RealtimeConversation : private predgen::ConversationListener {
 public:
  /// `client`: for the engine lock; empty: a client of its own. `sample_rate`: of the sound that
  /// comes, in Hz. UserError if the voice is not available. Borrows both.
  RealtimeConversation(const RealtimeHost& host, serve::ConversationListener& listener,
                       std::string client = {}, int sample_rate = kRealtimeRate);
  ~RealtimeConversation() override;
  RealtimeConversation(const RealtimeConversation&) = delete;
  RealtimeConversation& operator=(const RealtimeConversation&) = delete;

  const RealtimeOffer& offer() const { return host_.offer; }
  Dialogue& dialogue() { return dialogue_; }
  DialogueInput& input() { return input_; }
  /// Reports what is refused, a voice that is not available too, and then the settings as they are.
  /// `event_id`: of the client's event.
  void update(RealtimeSettings settings, Refusals refusals, const std::string& event_id);
  /// Reports what is refused, if anything is.
  void report(const Refusals& refusals, const std::string& event_id);

 private:
  void on_event(const predgen::ConversationEvent& event) override;

  const RealtimeHost& host_;
  serve::ConversationListener& listener_;
  Dialogue dialogue_;
  TurnLoop loop_;
  DialogueInput input_;
  Conversation conversation_;  // its threads use those before
  std::jthread thread_;        // last: it uses all of them
};

}  // namespace predgen::serve
