#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/kv_cache.h"
#include "model/language_model.h"
#include "text/token_ids.h"

namespace predgen {

/// A token sequence and the cache of a strict prefix of it.
/// Invariant: cache holds tokens[0, cache->length()) and cache->length() < tokens.size().
/// The uncached tail is pending: the next forward pass runs it.
struct Sequence {
  TokenIds tokens;
  std::unique_ptr<KvCache> cache;

  TokenSpan pending() const { return TokenSpan(tokens).subspan(cache->length()); }
};

struct GenerationConfig {
  int64_t max_new_tokens = 512;
  TokenIds stop_tokens;
};

enum class StopReason { kStopToken, kMaxNewTokens, kCacheFull, kCancelled };
std::string to_string(StopReason reason);  // "stop_token", "max_new_tokens", ...

struct GenerationResult {
  int64_t num_new_tokens = 0;
  int64_t num_forward_passes = 0;
  StopReason stop_reason = StopReason::kMaxNewTokens;
};

/// Receives tokens after every forward pass, as soon as they are final; returns false to cancel.
/// This is also where a caller looks for new input, so nothing waits longer than one pass.
using TokenCallback = std::function<bool(TokenSpan new_tokens)>;

/// One way of continuing a sequence: autoregressive, Jacobi. Greedy generators give the same
/// tokens whatever the guess.
class Generator {
 public:
  virtual ~Generator() = default;

  /// Appends new tokens to `sequence`, the stop token included, and keeps its invariant.
  /// `guess`: what may come next (the rest of an old draft); free to ignore.
  virtual GenerationResult generate(Sequence& sequence, TokenSpan guess,
                                    const GenerationConfig& config,
                                    const TokenCallback& on_tokens) = 0;
};

}  // namespace predgen
