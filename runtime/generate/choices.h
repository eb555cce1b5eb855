#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "runtime/generate/generator.h"
#include "runtime/generate/token_tree.h"

namespace predgen {

// Shapes: G tokens of a tree, V vocabulary.

/// What decoding takes after each token of a tree that was run: the most likely token or, with a
/// sampler, the one that it draws there. Whatever is checked in one pass goes by it, so a text does
/// not depend on what was guessed. Borrows what it is given.
class Choices {
 public:
  /// `logits_NV` [G+1,V]: after `before`, which ends where the tree begins, and after each token.
  Choices(const GenerationConfig& config, const at::Tensor& logits_NV, TokenSpan before,
          const TokenTree& tree);

  /// [G+1]: the most likely token after each. Empty with a sampler.
  const TokenIds& most_likely() const { return most_likely_; }
  /// What follows `path`: indices of the tree's tokens, from a first one on.
  TokenId after(const std::vector<int64_t>& path) const;
  /// Goes on from the end of `path` as long as the tree has the token that is taken there; returns
  /// the whole path.
  std::vector<int64_t> follow(std::vector<int64_t> path = {}) const;
  /// The tokens of `path`, and what follows it.
  TokenIds found(const std::vector<int64_t>& path) const;
  /// The next guess, as in Jacobi decoding: what follows each token of `draft` after its first
  /// wrong one. `draft`: the tree's first path. Nothing if `path` has left it before its end.
  TokenIds guess_after(const std::vector<int64_t>& path, const std::vector<int64_t>& draft) const;

 private:
  const GenerationConfig& config_;
  const at::Tensor& logits_NV_;
  const TokenSpan before_;
  const TokenTree& tree_;
  TokenIds most_likely_;  // without a sampler
};

}  // namespace predgen
