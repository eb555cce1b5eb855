#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/engine/engine.h"
#include "runtime/generate/sampler.h"
#include "text/token_ids.h"

namespace predgen {

class AnswerConstraint;

struct GenerationConfig {
  int64_t max_new_tokens = 512;
  TokenIds stop_tokens{};
  /// Draws the tokens. Null: the most likely ones.
  std::shared_ptr<const Sampler> sampler{};
  /// What the answer may say, made for one answer or for the drafts of one, for these stop tokens.
  /// Applied before the sampler; where it allows no token, the answer fails with DeadEnd. Null:
  /// anything.
  std::shared_ptr<AnswerConstraint> constraint{};
  /// Where the answer begins in the sequence, even if earlier calls have begun it.
  int64_t answer_begin = 0;
  Priority priority = Priority::kCommitted;
  /// Asked between the passes of a long prompt and those of a draft model; true cancels before the
  /// next token.
  std::function<bool()> should_stop{};
};

/// Why an answer ends: a stop token, the limit of new tokens, no room left in the context,
/// cancellation, or (only in a turn) because it repeats itself.
enum class StopReason { kStopToken, kMaxNewTokens, kCacheFull, kCancelled, kRepetition };
std::string to_string(StopReason reason);  // "stop_token", "max_new_tokens", ...

struct GenerationResult {
  int64_t num_new_tokens = 0;
  int64_t num_forward_passes = 0;
  /// Guessed and drafted tokens that passes checked, and how many of them are in the answer.
  int64_t num_checked = 0, num_accepted = 0;
  StopReason stop_reason = StopReason::kMaxNewTokens;
};

/// Receives new tokens after every forward pass that yields any, as soon as they are final; returns
/// false to cancel.
using TokenCallback = std::function<bool(TokenSpan new_tokens)>;

/// What is known beforehand about the tokens to come.
struct Guess {
  TokenSpan next{};  // may come right after the sequence
  std::span<const TokenIds>
      drafts{};  // earlier answers, the newest first, parts of which may recur
};

/// One way of continuing a sequence: autoregressive, Jacobi. All give the same tokens, whatever the
/// guess.
class Generator {
 public:
  virtual ~Generator() = default;

  /// Appends new tokens to `sequence`, the stop token included, and keeps its invariant.
  /// It is free to ignore the guess.
  virtual GenerationResult generate(Sequence& sequence, const Guess& guess,
                                    const GenerationConfig& config,
                                    const TokenCallback& on_tokens) = 0;

  /// Lets another model, if there is one, prefill what the next sequences most likely begin with.
  virtual void prefill(TokenSpan tokens) = 0;
};

/// One token per pass, and those before it that a constraint forces.
class AutoregressiveGenerator : public Generator {
 public:
  /// Borrows the engine.
  explicit AutoregressiveGenerator(Engine& engine) : engine_(engine) {}

  GenerationResult generate(Sequence& sequence, const Guess& guess, const GenerationConfig& config,
                            const TokenCallback& on_tokens) override;
  void prefill(TokenSpan /*tokens*/) override {}

 private:
  Engine& engine_;
};

}  // namespace predgen
