#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/generate/choices.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/masked_draft.h"
#include "runtime/generate/token_tree.h"
#include "runtime/speculate/verifier.h"

namespace predgen {

// Shapes: D tokens that a pass runs, masks included, V vocabulary.

/// What one pass verifies of an answer: a draft and, in a tree with it, what a constraint forces,
/// other answers, and masks that guess what follows. After the pass: what of it is right. Paths are
/// indices of its tokens. Borrows the configuration.
class DraftTree {
 public:
  DraftTree(TokenSpan draft, const GenerationConfig& config)
      : config_(config), drafted_(tree_.add(draft)), num_known_(tree_.size()) {}
  DraftTree(const DraftTree&) = delete;
  DraftTree& operator=(const DraftTree&) = delete;

  /// Tokens that there is room for.
  struct Room {
    int64_t forced = 0;   // that the constraint forces behind the draft
    int64_t answers = 0;  // of other answers; may be below 0, as the next two
    int64_t others = 0;   // of these and masks
    int64_t all = 0;
  };
  /// `answers`: from their first token on, as is the draft. `masks`: those of a model.
  void add_others(std::span<const TokenIds> answers, TokenSpan masks, const Room& room);

  // What the pass runs, as an EngineRequest has it.

  TokenSpan tokens() const { return masked_ ? masked_->tokens() : tree_.tokens(); }
  /// bool [D,D]: which tokens each one sees, itself included. Undefined if it is one path.
  at::Tensor sees_DD() const { return masked_ ? masked_->sees_DD() : at::Tensor(); }
  int64_t num_masks() const { return masked_ ? masked_->num_masks() : 0; }

  // After the pass.

  /// `logits_NV` [D+1,V]: after `before`, which ends where the draft begins, and after each token.
  /// What follows needs `before` still.
  void read(const at::Tensor& logits_NV, TokenSpan before);
  /// What the pass has said about the draft. `is_exact`: the verifier that asks.
  DraftLogits about_draft(bool is_exact) const;
  /// What is right, if the verifier keeps so many of the draft's tokens: these and what continues
  /// them, or another answer that is right for longer.
  std::vector<int64_t> right(int64_t num_agreed) const;
  /// The tokens of `path` and the one after it, as Choices::found().
  TokenIds found(const std::vector<int64_t>& path) const { return choices_->found(path); }
  /// A guess at what follows those.
  TokenIds guess_behind(const std::vector<int64_t>& path) const;

  int64_t num_drafted() const { return std::ssize(drafted_); }
  /// How many of the draft's first tokens are on `path`.
  int64_t num_right(const std::vector<int64_t>& path) const;
  /// How many tokens of `path` are there because the constraint forces them.
  int64_t num_forced(const std::vector<int64_t>& path) const;

 private:
  const GenerationConfig& config_;
  TokenTree tree_;
  const std::vector<int64_t> drafted_;  // 0, 1, ..
  int64_t num_known_;                   // tokens of the draft, and forced ones
  std::optional<MaskedDraft> masked_;   // nullopt: there is only the draft
  at::Tensor logits_NV_, tree_logits_NV_;
  std::optional<Choices> choices_;  // of these
};

}  // namespace predgen
