#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "text/token_ids.h"

namespace predgen {

/// Several continuations from one place, with common prefixes stored once: one pass runs all of
/// them (EngineRequest). G tokens.
class TokenTree {
 public:
  /// Returns the index of each token of `path` in tokens(), ascending. Stops where another token
  /// would make the tree larger than `max_size`.
  std::vector<int64_t> add(TokenSpan path, int64_t max_size = std::numeric_limits<int64_t>::max());

  TokenSpan tokens() const { return tokens_; }
  /// Tokens of its longest path.
  int64_t depth() const;
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Index of the token before the one at `index`; -1: it is a first one.
  int64_t parent(int64_t index) const { return parents_[static_cast<size_t>(index)]; }
  /// bool [G,G]: which tokens each one sees, itself included. Undefined if it is one path.
  at::Tensor mask_GG() const;

  /// Index of the token under `parent` (-1: at the beginning), if there is one.
  std::optional<int64_t> find(int64_t parent, TokenId token) const;
  /// How many of the path's first tokens are here.
  int64_t num_known(TokenSpan path) const;

 private:
  TokenIds tokens_;
  std::vector<int64_t> parents_;  // -1: none
};

}  // namespace predgen
