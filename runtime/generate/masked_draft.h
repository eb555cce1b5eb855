#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/token_tree.h"
#include "text/token_ids.h"

namespace predgen {

// Shapes: D tokens of a draft, masks included, V vocabulary.

/// What one pass runs to check a tree and to make the next guess: the tree's tokens and, after all
/// of them, masks. A token that has masks has all of them; they see what it sees, the token itself
/// and earlier masks, and predict what comes after the token that follows it (Samragh et al. 2025,
/// arXiv 2507.11851). The kept part of the tree is cached before them, so they are always dropped.
class MaskedDraft {
 public:
  /// At most `room` masks: after the token before the tree, then after those of `first`, indices of
  /// the tree's tokens, then after the others; none after `passed`, which are forced to go on
  /// within the tree (-1: the token before it).
  MaskedDraft(const TokenTree& tree, const std::vector<int64_t>& first, TokenSpan masks,
              int64_t room, const std::vector<int64_t>& passed = {});

  TokenSpan tokens() const { return tokens_; }
  /// Masks at the end of tokens().
  int64_t num_masks() const { return num_masks_; }
  /// bool [D,D]: which tokens each one sees, itself included. Undefined if it is one path.
  const at::Tensor& sees_DD() const { return sees_DD_; }

  /// What the masks after the last token of `path`, indices of the tree's tokens, predict after the
  /// one that follows it; empty if it has none. `logits_NV` [D+1,V]: after the token before the
  /// draft and after each of its tokens. `place`: where the token that follows leads to, if there
  /// is a constraint; the prediction keeps to it.
  TokenIds guess_behind(const std::vector<int64_t>& path, const at::Tensor& logits_NV,
                        const AnswerConstraint::PlacePtr& place = nullptr) const;

 private:
  TokenIds tokens_;
  at::Tensor sees_DD_;
  int64_t num_masks_ = 0, num_each_;
  std::vector<int64_t> masked_;  // the tree's tokens that have masks, in their order; -1: before it
};

}  // namespace predgen
