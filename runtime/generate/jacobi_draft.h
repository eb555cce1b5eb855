#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <limits>

#include "core/random.h"
#include "runtime/engine/sequence.h"
#include "runtime/generate/generator.h"

namespace predgen {

/// Jacobi decoding's guesses at the tokens after a sequence. The caller runs the passes, over one
/// sequence (JacobiGenerator) or many. With a window of 1 it is greedy decoding.
class JacobiDraft {
 public:
  /// What may come after `tokens`, at most `max_tokens`.
  using Refill = std::function<TokenIds(TokenSpan tokens, int64_t max_tokens)>;

  /// `window`: tokens that a pass may find, at least 1. `guess`: what may come next. Missing
  /// guesses come from next()'s `refill`, then are drawn from the sequence's tokens.
  JacobiDraft(int64_t window, TokenSpan guess, const Random& random);

  /// What the next pass runs after `sequence`; it may find up to `max_new_tokens` >= 1 tokens. With
  /// a constraint these are tokens that it allows, and beyond the window those that it forces then.
  /// Valid until take().
  TokenSpan next(const Sequence& sequence, const GenerationConfig& config, int64_t max_new_tokens,
                 const Refill& refill = {},
                 int64_t most_guesses = std::numeric_limits<int64_t>::max());
  /// How many of next() are guesses; the constraint forces the others.
  int64_t num_guessed() const { return num_guessed_; }
  /// The tokens that the pass has found, at least one: those of next() that were right, and what
  /// follows them. `logits_NV`: after `before`, the sequence's tokens, and after each of next().
  TokenIds take(const GenerationConfig& config, const at::Tensor& logits_NV, TokenSpan before);

 private:
  /// Makes of the guess a window that the constraint allows, and then adds what it forces, up to
  /// `most` tokens in all.
  void keep_inside(const Sequence& sequence, const GenerationConfig& config, int64_t most,
                   const Refill& refill);

  int64_t window_;
  Random random_;
  TokenIds guess_;
  int64_t width_ = 0;  // of next()
  int64_t num_guessed_ = 0;
};

}  // namespace predgen
