#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "text/tokenizer.h"

namespace predgen::serve {

/// A token of an answer, as its text (bytes, which may end inside a character), with the natural
/// logarithm of its probability, and those of the most likely ones in its place.
struct TokenScore {
  std::string token;
  double logprob = 0;
  std::vector<std::pair<std::string, double>> top{};  // the most likely first
};

/// Scores the tokens of an answer by the model's probabilities, before temperature and the like: it
/// runs them again, beside the answer itself. Used with the engine's lock; borrows both.
class TokenScorer {
 public:
  TokenScorer(Engine& engine, const Tokenizer& tokenizer, int64_t num_top)
      : engine_(engine), tokenizer_(tokenizer), num_top_(num_top) {}

  /// Scores the last `count` >= 1 tokens of `sequence`, which follow those of the last call.
  std::vector<TokenScore> score(const Sequence& sequence, int64_t count);

 private:
  std::string text(int64_t id) const;

  Engine& engine_;
  const Tokenizer& tokenizer_;
  const int64_t num_top_;
  std::optional<Sequence> before_;
};

}  // namespace predgen::serve
