#pragma once

#include <string>

#include "serve/realtime/dialogue.h"
#include "serve/realtime/listening.h"
#include "serve/realtime/turn_loop.h"

namespace predgen::serve {

/// A client's conversation: what is said, in a dialogue; how that is heard; and the thread that
/// answers. Used by one thread, but for the words that a recogniser finds. Locks are taken in this
/// order: of the sound, of the dialogue, of the inbox or a response, of the speaker: who is told of
/// a stop must not call the dialogue.
class RealtimeConversation {
 public:
  /// `client`: whose it is, for the baton; empty: nobody else's. UserError if the voice cannot be
  /// had. Borrows both.
  RealtimeConversation(const RealtimeHost& host, ConversationListener& listener,
                       std::string client = {});
  ~RealtimeConversation();
  RealtimeConversation(const RealtimeConversation&) = delete;
  RealtimeConversation& operator=(const RealtimeConversation&) = delete;

  const RealtimeOffer& offer() const { return host_.offer; }
  Dialogue& dialogue() { return dialogue_; }
  Listening& listening() { return listening_; }
  /// Tells what came of it. ApiError if the voice cannot be had.
  void update(const RealtimeSettings& settings);

 private:
  const RealtimeHost& host_;
  SessionInbox inbox_;
  Dialogue dialogue_;
  TurnLoop loop_;
  Listening listening_;  // last: sound ends first
};

}  // namespace predgen::serve
