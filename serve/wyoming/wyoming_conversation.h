#pragma once

#include <condition_variable>
#include <functional>
#include <string>
#include <utility>

#include "core/mutex.h"
#include "serve/realtime/realtime_conversation.h"
#include "serve/wyoming/wyoming_event.h"
#include "text/sentence/sentence_end.h"

namespace predgen::serve {

/// A conversation whose turns each come over their own connection: a RealtimeConversation that
/// answers with `handled` and its stream, or with `not-handled`. Thread-safe; borrows the host.
class WyomingConversation : private ConversationListener {
 public:
  /// `host` has no voice. `peer`: the client's address.
  explicit WyomingConversation(const RealtimeHost& host, std::string peer = {})
      : conversation_(host, *this, std::move(peer)) {}

  /// The client of a turn: where the answer goes, and what goes back with it.
  struct Client {
    WyomingSender* sender = nullptr;
    std::string peer{};  // its address
    bool has_id = true;  // it names the conversation; else a new one has a new name
    Json context{};
    // Before and after the last events of a turn. They must not call the conversation.
    std::function<void()> on_end{}, on_done{};
    // The answer's first sentence, once, when it is complete; must not call it, either.
    std::function<void(const std::string& sentence)> on_opening{};
  };
  /// A turn begins. False: another one is under way. Without a sender it is nobody's yet, and has
  /// no final line.
  bool enter(Client client);
  /// The turn in progress, which is nobody's, is this client's from now on.
  void hand_to(Client client);
  /// The turn in progress, which is nobody's, is given up: its draft stops before the next pass.
  void give_up();
  /// What was said so far; a final line begins the answer. ApiError if no answer is possible.
  void hear(const TranscriptLine& line);
  /// Ends the turn before its next pass if it is still this client's, which is returned; nothing
  /// more of it is sent or called.
  bool leave(const WyomingSender& sender);
  /// Returns when no client is leaving.
  void wait_left();

  /// Whether no turn is under way.
  bool is_free() const;
  /// Whether a client is leaving a turn, which will then be over.
  bool is_leaving() const;
  /// Whether it will never answer again.
  bool is_broken() const;

 private:
  void on_event(const ConversationEvent& event) override;
  void add_text(const std::string& text) REQUIRES(mutex_);
  void tell_opening(bool is_over) REQUIRES(mutex_);
  /// `error`: why there is no answer; empty: there is one.
  void finish(const std::string& error) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::condition_variable answer_ended_;
  Client client_ GUARDED_BY(mutex_);           // without a sender: nobody
  std::string text_ GUARDED_BY(mutex_);        // of the answer so far
  SentenceEndFinder ends_ GUARDED_BY(mutex_);  // in it
  bool is_taken_ GUARDED_BY(mutex_) = false;
  bool is_leaving_ GUARDED_BY(mutex_) = false;
  bool has_begun_ GUARDED_BY(mutex_) = false;
  bool is_answering_ GUARDED_BY(mutex_) = false;
  bool is_broken_ GUARDED_BY(mutex_) = false;
  RealtimeConversation conversation_;  // last: its threads use the others
};

}  // namespace predgen::serve
