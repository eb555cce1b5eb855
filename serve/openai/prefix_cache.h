#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "runtime/engine/engine.h"

namespace predgen::serve {

/// The sequences of finished answers, for prompts that continue them: a conversation's next call
/// finds its prefix in the KV cache. A client's prompts find only its own, since a cache hit
/// reveals what was said. Used with the engine's lock.
class PrefixCache {
 public:
  /// `capacity`: of each, in tokens. `max_cached`: the least recently used one goes first. Borrows
  /// the engine.
  PrefixCache(Engine& engine, int64_t capacity, int64_t max_cached)
      : engine_(engine), capacity_(capacity), max_cached_(max_cached) {}

  /// A sequence with the prompt's tokens, with as many cached as any of the client's cached
  /// sequences shares.
  Sequence take(const std::string& client, TokenSpan prompt);
  void keep(const std::string& client, Sequence sequence);
  /// Frees what they hold. False: they hold nothing.
  bool drop_all();

 private:
  Engine& engine_;
  const int64_t capacity_, max_cached_;
  struct Cached {
    std::string client;
    Sequence sequence;
  };
  std::list<Cached> cached_;  // the newest first
};

}  // namespace predgen::serve
