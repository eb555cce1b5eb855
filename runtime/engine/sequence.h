#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/kv_cache.h"
#include "text/token_ids.h"

namespace predgen {

/// The tokens of one conversation or candidate, and the KV cache of a strict prefix of them. Tokens
/// that are not cached are pending: the next pass runs them, so prefill, decoding and recovery
/// after a rejection are one operation. Engine::run() also caches a draft after the tokens; the
/// next change drops it or makes it the sequence's own.
/// Invariant, but for a cached draft: num_cached() < size(), or both are 0.
class Sequence {
 public:
  explicit Sequence(std::unique_ptr<KvCache> cache) : cache_(std::move(cache)) {}

  TokenSpan tokens() const { return tokens_; }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Most tokens that it can ever have in its cache.
  int64_t capacity() const { return cache_->capacity(); }
  int64_t num_cached() const { return cache_->length(); }
  /// Tokens that are not cached; Error while a draft is cached.
  TokenSpan pending() const;

  /// Adds tokens; the last one is always pending. If a draft is cached after the old tokens, the
  /// new ones must begin with the part of it to keep: they take over its positions.
  void append(TokenSpan tokens);
  /// Forgets the tokens from `size` on; the last one left is pending. O(1).
  void truncate(int64_t size);
  /// Replaces all tokens. Returns how many of the new ones stay cached: the common prefix, without
  /// the last token.
  int64_t replace(TokenSpan tokens);
  /// Of a draft that was run as a tree, keeps only the path with these indices (ascending) cached,
  /// in this order. The next append() makes it the sequence's own.
  void keep_path(std::span<const int64_t> path) { cache_->keep(size(), path); }
  /// A sequence with the same tokens, without a draft; both share their cache until they
  /// diverge.
  Sequence fork() const;

 private:
  friend class Engine;
  std::unique_ptr<KvCache> cache_;
  TokenIds tokens_;
};

}  // namespace predgen
