#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/engine/engine.h"
#include "text/token_ids.h"

namespace predgen {

struct GenerationConfig {
  int64_t max_new_tokens = 512;
  TokenIds stop_tokens{};
  Priority priority = Priority::kCommitted;
  /// Asked between the passes of a long prompt; true cancels before there is a token.
  std::function<bool()> should_stop{};
};

enum class StopReason { kStopToken, kMaxNewTokens, kCacheFull, kCancelled };
std::string to_string(StopReason reason);  // "stop_token", "max_new_tokens", ...

struct GenerationResult {
  int64_t num_new_tokens = 0;
  int64_t num_forward_passes = 0;
  StopReason stop_reason = StopReason::kMaxNewTokens;
};

/// Receives tokens after every forward pass that gives some, as soon as they are final; returns
/// false to cancel.
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
