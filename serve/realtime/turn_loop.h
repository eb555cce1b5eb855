#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "act/background_calls.h"
#include "audio/audio_sink.h"
#include "hear/transcripts/transcript_source.h"
#include "runtime/converse/conversation.h"
#include "runtime/converse/session.h"
#include "runtime/converse/tool_rounds.h"
#include "serve/realtime/conversation_listener.h"
#include "serve/realtime/dialogue.h"

namespace predgen::serve {

/// Sends a client that asked for them events about drafts: what is kept of each at the next
/// transcript, and of the last one in the answer. Used by one thread; borrows the listener.
class DraftEvents {
 public:
  explicit DraftEvents(ConversationListener& listener) : listener_(listener) {}

  void begin_turn();
  void hear(const Transcript& heard);
  /// As TurnObserver::on_draft. `is_wanted`: otherwise nothing is sent.
  void draft(const std::string& text, size_t accepted_bytes, bool is_wanted);
  /// As TurnObserver::on_calls: the first time that later words or a pause have kept a call, it is
  /// sent.
  void predict(const std::vector<DraftedCall>& calls, bool is_wanted);
  /// How many calls were predicted in this turn, and how many of these are in `made`.
  std::pair<int64_t, int64_t> count_predicted(const std::vector<ToolCall>& made) const;
  /// More of the answer; the first call reports what it keeps of the draft.
  void answer(const std::string& text, bool is_wanted);

 private:
  ConversationListener& listener_;
  Transcript heard_;
  std::string draft_, last_draft_;  // of the transcript, and of one before it
  bool has_answer_ = false;
  std::vector<std::string> predicted_;  // canonical calls
};

/// A conversation's Session, which shares the engine with others: turn after turn of what it is
/// asked. The dialogue is told the result of a turn. Nothing of a draft is told before it is
/// committed, unless the client wants such events. Used by one thread.
class TurnLoop {
 public:
  /// `client`: for the engine lock; empty: a client of its own. Borrows the others.
  TurnLoop(const RealtimeHost& host, ConversationListener& listener, Conversation& conversation,
           Dialogue& dialogue, std::string client);

  /// Runs the server's own tools; null: the client has none.
  ToolRounds* tools() { return rounds_ ? &*rounds_ : nullptr; }
  /// Until the stop, which ends work in progress before its next pass if the dialogue is stopped.
  void run(const std::stop_token& stop);
  /// What happens in the turn.
  void take(const Heard& heard) { drafts_.hear(heard.transcript); }
  void take(const Drafted& drafted);
  void take(const SentenceDrafted& drafted);
  void take(const CallsDrafted& drafted);
  void take(const Said& said);
  void take(const Answered& answered);
  void take(const BrokenOff&) { dialogue_.clear_up(take_rounds()); }

 private:
  /// What happens to a call of a tool of the server.
  void take(const ToolEvent& event);
  /// Of the turn: ConversationItem::rounds.
  std::vector<Message> take_rounds() {
    return rounds_ ? rounds_->take_messages() : std::vector<Message>();
  }
  bool is_own(const ToolCall& call) const { return rounds_ && rounds_->is_ours(call.name); }
  bool has_only_ours(const ToolSet& tools) const;
  void take_turn(Session& session);
  /// Makes the session what the client wants by now.
  void prepare(Session& session, Dialogue::Plan plan);
  /// As SharedOpenings::prepare(). False: conversations share nothing.
  bool use_opening(Session& session, const std::function<bool()>& may_read);
  /// As ToolRounds::FormForWords; without words, as FormOf, and a UserError if calls of the
  /// client's functions cannot be compiled. Called while the engine is given up.
  std::shared_ptr<const TokenConstraint> form_of(AnswerRules rules, const std::string& words) const;
  /// Takes the voice, unless it throws: then there is none until this is tried again.
  void use_voice(std::unique_ptr<SpeechSynthesizer>& voice, Session& session);

  const RealtimeHost& host_;
  ConversationListener& listener_;
  Conversation& conversation_;
  Dialogue& dialogue_;
  const std::string client_;
  DraftEvents drafts_;
  std::optional<act::ThreadedCalls> calls_;
  std::optional<ToolRounds> rounds_;
  std::unique_ptr<SpeechSynthesizer> voice_;  // null: none yet
  std::unique_ptr<AudioSink> sink_;           // of the voice, to the client
  Session* session_ = nullptr;                // during a turn
  bool has_audio_ = false;                    // this turn's answer
  ToolChoice tool_choice_{};                  // that the session's constraint is made for
  std::string home_;                          // likewise: what the tools' servers say there is
  std::optional<TokenIds> opening_;           // Session::opening(); nullopt: not known yet
};

}  // namespace predgen::serve
