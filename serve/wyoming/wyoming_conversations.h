#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "serve/wyoming/wyoming_conversation.h"

namespace predgen::serve {

/// The conversations of all connections, by their address and the ids that clients give them: Home
/// Assistant makes a connection for every turn, and ids are words that others may choose, too. The
/// most recently used ones are kept. Thread-safe; borrows the host.
///
/// Sound comes before its conversation is known: Home Assistant asks for a transcript first, then
/// for the answer to it, each over a connection of its own. A turn that is heard (listen()) is
/// guessed to belong to the conversation that the same client used last, and is its client's when
/// that comes with the same words.
class WyomingConversations {
 public:
  /// A conversation without a turn for `idle_seconds` is forgotten.
  WyomingConversations(const RealtimeHost& host, int64_t max_conversations, double idle_seconds)
      : host_(host), max_conversations_(max_conversations), idle_(idle_seconds) {}

  /// Begins a turn of this client's conversation `id`, which may be new, or takes over the one that
  /// was heard with the words of `text`; empty: there is none. ApiError if another turn of the
  /// conversation is in progress, or turns of too many others, of this client or of all.
  std::shared_ptr<WyomingConversation> enter(const std::string& id,
                                             WyomingConversation::Client client,
                                             const std::string& text = {});

  /// A turn whose sound comes from `peer`: what is heard goes to the conversation, which drafts.
  /// Null: too many others are in progress, so nothing is drafted.
  std::shared_ptr<WyomingConversation> listen(const std::string& peer);
  /// What was said so far in a turn that listen() began, unless it has another user by now.
  void hear(const std::shared_ptr<WyomingConversation>& conversation, const std::string& words);
  /// These are the words of a turn that listen() began. It waits for its client, for 10 s.
  void expect(const std::shared_ptr<WyomingConversation>& conversation, const std::string& text);
  /// Ends a turn that listen() began, unless it has a client. Null: nothing.
  void forget(const std::shared_ptr<WyomingConversation>& conversation);

 private:
  /// A turn without a client.
  struct Heard {
    std::string words;             // bare_words(); empty: its sound still comes
    std::optional<Seconds> until;  // that it waits
  };
  struct Kept {
    std::optional<std::string> id;  // nullopt: its first turn is without a client
    std::string peer;
    Seconds entered{0};
    std::shared_ptr<WyomingConversation> conversation;
    std::optional<Heard> heard{};
  };
  /// Gives up turns that wait in vain, or are in the conversation that `id` names.
  void drop_heard(const std::string& peer, const std::string& id);
  std::list<Kept>::iterator find(const std::string& peer, const std::string& id) REQUIRES(mutex_);
  /// The one that waits with these words, for a client of conversation `id`.
  std::list<Kept>::iterator find_heard(const std::string& peer, const std::string& id,
                                       const std::string& text) REQUIRES(mutex_);
  /// One to which a new turn of this client most likely belongs.
  std::list<Kept>::iterator find_last(const std::string& peer) REQUIRES(mutex_);
  std::list<Kept>::iterator add(std::optional<std::string> id, const std::string& peer)
      REQUIRES(mutex_);
  /// Whether it is to be forgotten.
  bool is_over(const Kept& one) const;
  /// One client's turns in progress.
  int64_t num_busy(const std::string& peer) const REQUIRES(mutex_);
  [[noreturn]] void refuse() const;
  /// Removes those that must make room.
  std::list<Kept> remove_old() REQUIRES(mutex_);

  const RealtimeHost& host_;
  const int64_t max_conversations_;
  const Seconds idle_;
  Mutex mutex_;
  std::list<Kept> kept_ GUARDED_BY(mutex_);  // the most recently entered one last
};

}  // namespace predgen::serve
