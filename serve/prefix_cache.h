#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "runtime/engine/engine.h"
#include "serve/prefix_store.h"

namespace predgen::serve {

/// The sequences of finished answers, for prompts that continue them: a conversation's next call
/// finds its prefix in the KV cache. A client's prompts find only its own, since a cache hit
/// reveals what was said. Used with the engine's lock.
class PrefixCache {
 public:
  /// `capacity`: of each, in tokens. `max_cached`: the least recently used one goes first. Borrows
  /// the others. `store`: null: nothing is kept on disk.
  PrefixCache(Engine& engine, EngineLock& engine_lock, int64_t capacity, int64_t max_cached,
              PrefixStore* store = nullptr)
      : engine_(engine),
        engine_lock_(engine_lock),
        capacity_(capacity),
        max_cached_(max_cached),
        store_(store) {}

  /// How many of the prompt's tokens any of the client's sequences would save.
  int64_t num_cached(const std::string& client, TokenSpan prompt) {
    return find(client, prompt).second.first;
  }
  /// Whether enough more of it is stored.
  bool is_worth_loading(const std::string& client, TokenSpan prompt, int64_t num_cached) const;
  /// A sequence with the prompt's tokens, with as many cached as any of the client's cached
  /// sequences shares, or what is stored. Gives up the engine's lock while that is read.
  Sequence take(const std::string& client, TokenSpan prompt);
  /// `num_static`: how many of its first tokens other conversations will most likely have, too;
  /// 0: unknown. They are stored if nothing like them is.
  void keep(const std::string& client, Sequence sequence, int64_t num_static = 0);
  /// Frees what they hold. False: they hold nothing.
  bool drop_all();

 private:
  struct Cached {
    std::string client;
    Sequence sequence;
  };
  /// The one that shares most with the prompt, and how many tokens stay cached, and are common.
  std::pair<std::list<Cached>::iterator, std::pair<int64_t, int64_t>> find(
      const std::string& client, TokenSpan prompt);
  /// nullopt: nothing is stored that is worth reading beside `num_kept` cached tokens.
  std::optional<Sequence> load(const std::string& client, TokenSpan prompt, int64_t num_kept);
  /// Stores the first `length` tokens, unless most of them are.
  void store(const std::string& client, Sequence& sequence, int64_t length);

  Engine& engine_;
  EngineLock& engine_lock_;
  const int64_t capacity_, max_cached_;
  PrefixStore* const store_;
  std::list<Cached> cached_;  // the newest first
};

}  // namespace predgen::serve
