#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/kv_cache.h"
#include "text/token_ids.h"

namespace predgen {

/// The tokens of one conversation or candidate, and the cache of a strict prefix of them. The
/// tokens that are not cached are pending: the next pass runs them, so prefill, decoding and repair
/// after a rejection are one thing. Engine::run() also caches a draft after the tokens; that is
/// gone, or has become the sequence's own, with the next change.
/// Invariant, but for a cached draft: num_cached() < size(), or both are 0.
class Sequence {
 public:
  explicit Sequence(std::unique_ptr<KvCache> cache) : cache_(std::move(cache)) {}

  TokenSpan tokens() const { return tokens_; }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Tokens that it may ever have in its cache.
  int64_t capacity() const { return cache_->capacity(); }
  int64_t num_cached() const { return cache_->length(); }
  /// Those that are not cached; Error while a draft is.
  TokenSpan pending() const;

  /// Adds tokens; the last one is always pending. Where a draft is cached after the old ones, the
  /// new ones must begin with what is to be kept of it: its positions become theirs.
  void append(TokenSpan tokens);
  /// Forgets the tokens from `size` on; the last one left is pending. O(1).
  void truncate(int64_t size);
  /// Has `tokens` from now on. Returns how many of them stay cached: those at the beginning that
  /// are the same, without the last one.
  int64_t replace(TokenSpan tokens);
  /// Of a draft that was run as a tree, only the path with these indices (ascending) is cached from
  /// now on, in this order. The next append() makes it the sequence's own.
  void keep_path(std::span<const int64_t> path) { cache_->keep(size(), path); }
  /// A sequence with these tokens, without a draft; both share their cache until one goes another
  /// way.
  Sequence fork() const;

 private:
  friend class Engine;
  std::unique_ptr<KvCache> cache_;
  TokenIds tokens_;
};

}  // namespace predgen
