#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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

/// The conversations of all connections, by their address and the ids that clients give them: Home
/// Assistant makes a connection for every turn, and ids are words that others may choose, too. The
/// most recently used ones are kept. Thread-safe; borrows the host.
///
/// Sound comes before its conversation is known: Home Assistant asks for a transcript first, then
/// for the answer to it, each over a connection of its own. A turn that is heard (listen()) is
/// guessed to belong to the conversation that the same client used last, and is its client's when
/// that comes with the same words. Until then it gives way to whoever asks for an answer.
class WyomingConversations {
 public:
  /// A conversation without a turn for `idle_seconds` is forgotten.
  WyomingConversations(const RealtimeHost& host, int64_t max_conversations, double idle_seconds)
      : host_(host),
        max_conversations_(max_conversations),
        idle_(idle_seconds),
        thread_([this](const std::stop_token& stop) { watch(stop); }) {}

  /// Begins a turn of this client's conversation `id`, which may be new, or takes over the one that
  /// was heard with the words of `text`; empty: there is none. Waits while a client leaves the
  /// conversation. ApiError if another turn of it is in progress, or turns of too many others, of
  /// this client or of all.
  std::shared_ptr<WyomingConversation> enter(const std::string& id,
                                             const WyomingConversation::Client& client,
                                             const std::string& text = {});

  /// A turn whose sound comes from `peer`: what is heard goes to the conversation, which drafts.
  /// Returns its number, for the three below. 0: there is no room, so nothing is drafted.
  int64_t listen(const std::string& peer);
  /// What was said so far in a turn, unless it has a client or was given up.
  void hear(int64_t turn, const std::string& words);
  /// These are the words of a turn. It waits for its client, for 10 s.
  void expect(int64_t turn, const std::string& text);
  /// Ends a turn, unless it has a client.
  void forget(int64_t turn);

 private:
  /// A turn without a client.
  struct Heard {
    int64_t turn = 0;
    std::string words{};             // bare_words(); empty: its sound still comes
    std::optional<Seconds> until{};  // that it waits
  };
  struct Kept {
    std::optional<std::string> id;  // nullopt: its first turn is without a client
    bool is_named = false;          // a client has chosen or used the id
    std::string peer;
    Seconds entered{0};
    int64_t num_entered = 0;  // turns that a client has asked for
    std::shared_ptr<WyomingConversation> conversation;
    std::optional<Heard> heard{};
  };
  using Place = std::list<Kept>::iterator;

  /// As enter(). Null: the conversation is being left by `leaving`'s client.
  std::shared_ptr<WyomingConversation> try_enter(const std::string& id,
                                                 const WyomingConversation::Client& client,
                                                 const std::string& text,
                                                 std::shared_ptr<WyomingConversation>& leaving);
  /// Gives up turns that wait in vain, until the stop.
  void watch(const std::stop_token& stop);

  // What they remove goes to `old`, which ends without the mutex.

  void give_up(Place heard, std::list<Kept>& old) REQUIRES(mutex_);
  void drop_late(std::list<Kept>& old) REQUIRES(mutex_);
  /// Removes what is over and, if need be, what gives way to a client, or to a mere guess.
  void make_room(const std::string& peer, bool is_guess, std::list<Kept>& old) REQUIRES(mutex_);

  Place find(const std::string& peer, const std::string& id) REQUIRES(mutex_);
  Place find_turn(int64_t turn) REQUIRES(mutex_);
  /// The one that waits with these words, for a client of conversation `id`.
  Place find_heard(const std::string& peer, const std::string& id, const std::string& text)
      REQUIRES(mutex_);
  /// One to which a new turn of this client most likely belongs.
  Place find_last(const std::string& peer) REQUIRES(mutex_);
  Place add(std::optional<std::string> id, const std::string& peer) REQUIRES(mutex_);
  bool is_full() const REQUIRES(mutex_) { return std::ssize(kept_) >= max_conversations_; }
  /// Whether it is to be forgotten.
  bool is_over(const Kept& one) const;
  /// Whether a new turn could still continue it.
  bool is_recent(const Kept& one) const;
  /// Whether this client has begun conversations lately, and gone on with none.
  bool begins_anew(const std::string& peer) const REQUIRES(mutex_);
  /// One client's turns in progress, and those that are only heard.
  int64_t num_turns(const std::string& peer, bool with_heard) const REQUIRES(mutex_);
  [[noreturn]] void refuse() const;

  const RealtimeHost& host_;
  const int64_t max_conversations_;
  const Seconds idle_;
  Mutex mutex_;
  std::condition_variable_any changed_;      // a turn waits for its client
  std::list<Kept> kept_ GUARDED_BY(mutex_);  // the most recently entered one last
  int64_t last_turn_ GUARDED_BY(mutex_) = 0;
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace predgen::serve
