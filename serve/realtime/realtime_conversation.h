#pragma once

#include <string>

#include "serve/realtime/dialogue.h"
#include "serve/realtime/listening.h"
#include "serve/realtime/turn_loop.h"

namespace predgen::serve {

/// A client's conversation: the dialogue, listening, and the thread that answers.
/// Used by one thread, except for words from a recogniser. Lock order: sound,
/// dialogue, inbox or a response, speaker. A stop callback must not call the
/// dialogue.
class RealtimeConversation {
 public:
  /// `client`: for the baton; empty: a client of its own. UserError if the voice is not available.
  /// Borrows both.
  RealtimeConversation(const RealtimeHost& host, ConversationListener& listener,
                       std::string client = {});
  ~RealtimeConversation();
  RealtimeConversation(const RealtimeConversation&) = delete;
  RealtimeConversation& operator=(const RealtimeConversation&) = delete;

  const RealtimeOffer& offer() const { return host_.offer; }
  Dialogue& dialogue() { return dialogue_; }
  Listening& listening() { return listening_; }
  /// Reports what is refused, a voice that is not available too, and then the settings as they are.
  /// `event_id`: of the client's event.
  void update(RealtimeSettings settings, Refusals refusals, const std::string& event_id);
  /// Reports what is refused, if anything is.
  void report(const Refusals& refusals, const std::string& event_id);

 private:
  const RealtimeHost& host_;
  ConversationListener& listener_;
  SessionInbox inbox_;
  Dialogue dialogue_;
  TurnLoop loop_;
  Listening listening_;  // last: sound ends first
};

}  // namespace predgen::serve
