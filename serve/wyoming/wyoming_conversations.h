#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "core/mutex.h"
#include "serve/wyoming/wyoming_conversation.h"

namespace predgen::serve {

/// The conversations of all connections, by the ids that clients give them: Home Assistant makes a
/// connection for every turn. Those that were used last are kept. Thread-safe; borrows the host.
class WyomingConversations {
 public:
  /// A conversation without a turn for `idle_seconds` is forgotten.
  WyomingConversations(const RealtimeHost& host, int64_t max_conversations, double idle_seconds)
      : host_(host), max_conversations_(max_conversations), idle_(idle_seconds) {}

  /// A turn of conversation `id` begins, which may be new. ApiError if another one of it is under
  /// way, or turns of too many others, of this client or of all.
  std::shared_ptr<WyomingConversation> enter(const std::string& id,
                                             WyomingConversation::Client client);

 private:
  struct Kept {
    std::string id, peer;
    Seconds entered{0};
    std::shared_ptr<WyomingConversation> conversation;
  };
  /// It is forgotten.
  bool is_over(const Kept& one) const;
  /// Turns under way of one client.
  int64_t num_busy(const std::string& peer) const REQUIRES(mutex_);
  [[noreturn]] void refuse() const;
  /// Takes out those that must make room.
  std::list<Kept> remove_old() REQUIRES(mutex_);

  const RealtimeHost& host_;
  const int64_t max_conversations_;
  const Seconds idle_;
  Mutex mutex_;
  std::list<Kept> kept_ GUARDED_BY(mutex_);  // the one that was entered last is the last
};

}  // namespace predgen::serve
