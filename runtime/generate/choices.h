#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/token_tree.h"

namespace predgen {

// Shapes: G tokens of a tree, V vocabulary.

/// The token that decoding takes after each token of a tree that was run: the most likely one or,
/// with a sampler, the one drawn there, among those that the constraint allows. Every check in a
/// pass uses it, so the text does not depend on the guesses. A token is kNoToken where none may
/// follow, at a dead end, the answer's end or outside the constraint; who adds it to an answer
/// fails. Borrows its arguments.
class Choices {
 public:
  /// `logits_NV` [G+1,V]: after `before`, which ends where the tree begins, and after each token.
  Choices(const GenerationConfig& config, const at::Tensor& logits_NV, TokenSpan before,
          const TokenTree& tree);

  /// [G+1]: the most likely token after each, as after() has it. Empty with a sampler.
  const TokenIds& most_likely() const { return most_likely_; }
  /// The token after `path`: indices of the tree's tokens, from a first one on.
  TokenId after(const std::vector<int64_t>& path) const;
  /// Extends `path` as long as the tree has the token that is taken there; returns the whole
  /// path.
  std::vector<int64_t> follow(std::vector<int64_t> path = {}) const;
  /// The tokens of `path`, and the token after it.
  TokenIds found(const std::vector<int64_t>& path) const;
  /// The next guess, as in Jacobi decoding: what follows each token of `draft` after its first
  /// wrong one. `draft`: the tree's first path. Empty if `path` left it before its end.
  TokenIds guess_after(const std::vector<int64_t>& path, const std::vector<int64_t>& draft) const;
  /// The first `count` rows of the logits, with -inf for what the constraint forbids.
  at::Tensor allowed_logits(int64_t count) const;
  /// Where `path` and the token after it lead to; null without a constraint.
  AnswerConstraint::PlacePtr place_after(const std::vector<int64_t>& path, TokenId token) const;

 private:
  const GenerationConfig& config_;
  const at::Tensor& logits_NV_;
  const TokenSpan before_;
  const TokenTree& tree_;
  std::vector<AnswerConstraint::PlacePtr> places_;  // with a constraint: [G+1]
  TokenIds most_likely_;                            // without a sampler
};

}  // namespace predgen
