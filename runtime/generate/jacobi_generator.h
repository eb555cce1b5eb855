#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/random.h"
#include "runtime/engine/sequence.h"
#include "runtime/generate/draft_source.h"
#include "runtime/generate/draft_width.h"
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

/// Jacobi decoding (Eq. 1 of arXiv 2506.15556) in a sliding window: every pass commits the guesses
/// that agree with the model plus one corrected token, and keeps the model's own choices after them
/// as the next guess. Gives the same tokens as AutoregressiveGenerator.
class JacobiGenerator : public Generator {
 public:
  /// Borrows the engine. `window`: tokens that one pass can commit at most; of these it runs as
  /// many as pay off at `costs` (see DraftWidth), all if costs are unknown. `seed`
  /// draws the random refill; it changes the number of passes, never the text. The first source
  /// that knows what comes after the window's guesses refills it.
  JacobiGenerator(Engine& engine, int64_t window, uint64_t seed = 0,
                  std::vector<std::unique_ptr<DraftSource>> sources = {},
                  const PassCosts& costs = {});

  /// The first draft is what comes next by `guess`, then random tokens of the sequence.
  GenerationResult generate(Sequence& sequence, const Guess& guess, const GenerationConfig& config,
                            const TokenCallback& on_tokens) override;
  void prefill(TokenSpan tokens) override;

 private:
  Engine& engine_;
  int64_t window_;
  DraftWidth width_;
  uint64_t seed_;
  std::vector<std::unique_ptr<DraftSource>> sources_;
};

}  // namespace predgen
