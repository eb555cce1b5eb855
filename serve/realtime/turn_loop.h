#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "audio/audio_sink.h"
#include "core/mutex.h"
#include "runtime/converse/session.h"
#include "serve/realtime/dialogue.h"
#include "serve/realtime/draft_events.h"

namespace predgen::serve {

/// A conversation's Session, in a thread of its own that shares the engine with others: turn after
/// turn of what the inbox has. All members but one belong to that thread; the dialogue
/// is told the result of a turn. Nothing of a draft is told before it is committed, unless the
/// client wants such events.
class TurnLoop {
 public:
  /// TurnObserver::on_end_by_words().
  using OnEndByWords = std::function<void(const std::string& words, double probability)>;

  /// `client`: for the baton; empty: a client of its own. Borrows the others.
  TurnLoop(const RealtimeHost& host, ConversationListener& listener, SessionInbox& inbox,
           Dialogue& dialogue, std::string client);
  /// Ends work in progress before its next pass.
  ~TurnLoop();
  /// Takes effect at once; empty: none. Called by another thread than the loop's; the previous
  /// function is not called any more once this returns.
  void set_on_end_by_words(OnEndByWords tell);

 private:
  void work(const std::stop_token& stop);
  /// The next turn.
  void take_turn(Session& session);
  /// Makes the session what the client wants by now.
  void prepare(Session& session, Dialogue::Plan plan);
  /// Takes the voice, unless it throws: then there is none until this is tried again.
  void use_voice(std::unique_ptr<SpeechSynthesizer>& voice, Session& session);
  TurnObserver observer();
  void finish_turn(const Session& session, const TurnResult& result);

  const RealtimeHost& host_;
  ConversationListener& listener_;
  SessionInbox& inbox_;
  Dialogue& dialogue_;
  const std::string client_;
  DraftEvents drafts_;
  std::unique_ptr<SpeechSynthesizer> voice_;  // null: none yet
  std::unique_ptr<AudioSink> sink_;           // of the voice, to the client
  Mutex mutex_;                               // locked before all others
  OnEndByWords on_end_by_words_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace predgen::serve
