#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/generate/generator.h"
#include "text/token_ids.h"

namespace predgen {

/// Answers that were drafted and given up in this turn: the next words may make one right again.
class CandidatePool {
 public:
  explicit CandidatePool(int64_t max_candidates) : max_candidates_(max_candidates) {}

  /// Makes it the newest one. Candidates that are its prefixes are dropped; if it is a prefix of
  /// another one, that becomes the newest.
  void add(TokenIds candidate);
  void clear() { candidates_.clear(); }

  const std::vector<TokenIds>& newest_first() const { return candidates_; }

 private:
  int64_t max_candidates_;
  std::vector<TokenIds> candidates_;
};

/// Is given the tokens of one answer in order, each once; returns whether the answer is complete.
using IsWhole = std::function<bool(TokenSpan new_tokens)>;
/// Makes an IsWhole for another answer.
using FollowAnswer = std::function<IsWhole()>;

/// Other answers to one prompt: where an answer was least certain (by the gap between its logit and
/// the best other one), that other token is taken and continued as the answer would be. All grow
/// together, one token per pass, after one pass over the answer that finds these places.
class Branches {
 public:
  explicit Branches(int64_t max_branches) : max_branches_(max_branches) {}

  /// Makes the branches, or continues where an earlier call was stopped; does nothing if all are
  /// done. `answered`: prompt and answer (from config.answer_begin on), not changed. A branch is
  /// done when it is complete, at a stop token, or at `config.max_new_tokens`; config.should_stop
  /// suspends all. Returns the number of new tokens.
  int64_t grow(Engine& engine, const Sequence& answered, const GenerationConfig& config,
               const FollowAnswer& follow);
  /// Passes that they took so far.
  int64_t num_forward_passes() const { return num_forward_passes_; }
  /// The most promising one first; each is an answer from its first token on.
  const std::vector<TokenIds>& answers() const { return answers_; }

  /// The prompt has changed.
  void clear();

 private:
  int64_t max_branches_;
  std::vector<TokenIds> answers_;
  bool done_ = false;
  int64_t num_forward_passes_ = 0;
};

}  // namespace predgen
