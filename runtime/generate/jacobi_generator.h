#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/generate/draft_source.h"
#include "runtime/generate/draft_width.h"
#include "runtime/generate/generator.h"

namespace predgen {

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
