#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "audio/audio_sink.h"
#include "runtime/converse/conversation.h"
#include "runtime/converse/session.h"
#include "serve/realtime/dialogue.h"
#include "serve/realtime/draft_events.h"

namespace predgen::serve {

/// A conversation's Session, which shares the engine with others: turn after turn of what it is
/// asked. The dialogue is told the result of a turn. Nothing of a draft is told before it is
/// committed, unless the client wants such events. Used by one thread.
class TurnLoop {
 public:
  /// `client`: for the engine lock; empty: a client of its own. Borrows the others.
  TurnLoop(const RealtimeHost& host, ConversationListener& listener, Conversation& conversation,
           Dialogue& dialogue, std::string client);

  /// Until the stop, which ends work in progress before its next pass if the dialogue is stopped.
  void run(const std::stop_token& stop);
  /// What happens in the turn.
  void take(const Heard& heard) { drafts_.hear(heard.transcript); }
  void take(const Drafted& drafted);
  void take(const SentenceDrafted& drafted);
  void take(const CallsDrafted& drafted) {
    drafts_.predict(drafted.calls, dialogue_.wants("calls"));
  }
  void take(const Said& said);
  void take(const Answered& answered);
  void take(const BrokenOff&) { dialogue_.clear_up(); }

 private:
  void take_turn(Session& session);
  /// Makes the session what the client wants by now.
  void prepare(Session& session, Dialogue::Plan plan);
  /// What an answer's calls may be; null: anything. UserError if it cannot be compiled.
  std::shared_ptr<const TokenConstraint> calls_of(const ToolSet& tools, const ToolChoice& choice,
                                                  bool thinks) const;
  /// Takes the voice, unless it throws: then there is none until this is tried again.
  void use_voice(std::unique_ptr<SpeechSynthesizer>& voice, Session& session);

  const RealtimeHost& host_;
  ConversationListener& listener_;
  Conversation& conversation_;
  Dialogue& dialogue_;
  const std::string client_;
  DraftEvents drafts_;
  std::unique_ptr<SpeechSynthesizer> voice_;  // null: none yet
  std::unique_ptr<AudioSink> sink_;           // of the voice, to the client
  Session* session_ = nullptr;                // during a turn
  bool has_audio_ = false;                    // this turn's answer
  ToolChoice tool_choice_{};                  // that the session's constraint is made for
};

}  // namespace predgen::serve
