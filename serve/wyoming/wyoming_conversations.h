#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "core/mutex.h"
#include "serve/wyoming/wyoming_conversation.h"

namespace predgen::serve {

/// The conversations of all connections, by their address and the ids that clients give them: Home
/// Assistant makes a connection for every turn, and ids are words that others may choose, too. The
/// most recently used ones are kept. Thread-safe; borrows the host.
class WyomingConversations {
 public:
  /// A conversation without a turn for `idle_seconds` is forgotten.
  WyomingConversations(const RealtimeHost& host, int64_t max_conversations, double idle_seconds)
      : host_(host), max_conversations_(max_conversations), idle_(idle_seconds) {}

  /// Begins a turn of this client's conversation `id`, which may be new. ApiError if another turn
  /// of it is in progress, or turns of too many others, of this client or of all.
  std::shared_ptr<WyomingConversation> enter(const std::string& id,
                                             WyomingConversation::Client client);

 private:
  struct Kept {
    std::string id, peer;
    Seconds entered{0};
    std::shared_ptr<WyomingConversation> conversation;
  };
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
