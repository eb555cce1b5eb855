#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/sequence.h"
#include "runtime/generate/answer_store.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/token_tree.h"
#include "text/token_ids.h"

namespace predgen {

/// What a pass has room for.
struct DraftRoom {
  const TokenTree& tree;         // what it already checks: duplicates take no room
  int64_t max_tokens = 0;        // including the tree's
  Sequence* sequence = nullptr;  // the model's, which the pass will run

  int64_t left() const { return max_tokens - tree.size(); }
  /// Whether the model's hidden states of so many first tokens are known (Sequence::hidden_SE()).
  bool has_hidden(int64_t num_tokens) const {
    const at::Tensor hidden_SE = sequence != nullptr ? sequence->hidden_SE() : at::Tensor();
    return hidden_SE.defined() && hidden_SE.size(0) >= num_tokens;
  }
};

/// Proposes what may come next, for less than a pass of the model costs; DraftingGenerator has the
/// model check it.
class DraftSource {
 public:
  virtual ~DraftSource() = default;

  /// Continuations of `tokens`, best first, none empty, each with at most `room.left()` tokens that
  /// are not in the room's tree; an empty list if it has none. `drafts`: earlier answers, newest
  /// first. `config`: of the generation. nullopt if its should_stop ended the search.
  virtual std::optional<std::vector<TokenIds>> propose(TokenSpan tokens,
                                                       std::span<const TokenIds> drafts,
                                                       const GenerationConfig& config,
                                                       const DraftRoom& room) = 0;

  /// Prepares for `tokens`, which the next ones most likely begin with.
  virtual void prefill(TokenSpan tokens) = 0;
};

/// What followed the last tokens where they occurred before: in an earlier draft of the answer (one
/// token is enough), in the conversation (two). The longest match comes first, then the newest
/// place. If no draft has the last token, the newest one is assumed to differ in this one token of
/// the answer and to continue as before. (Prompt lookup decoding: Saxena 2023.)
class NgramSource : public DraftSource {
 public:
  explicit NgramSource(int64_t max_paths = 3) : max_paths_(max_paths) {}

  std::optional<std::vector<TokenIds>> propose(TokenSpan tokens, std::span<const TokenIds> drafts,
                                               const GenerationConfig& config,
                                               const DraftRoom& room) override;
  void prefill(TokenSpan /*tokens*/) override {}

 private:
  int64_t max_paths_;
};

/// What followed the last tokens in answers to other prompts.
class AnswerSource : public DraftSource {
 public:
  explicit AnswerSource(std::shared_ptr<const AnswerStore> store) : store_(std::move(store)) {}

  std::optional<std::vector<TokenIds>> propose(TokenSpan tokens, std::span<const TokenIds> drafts,
                                               const GenerationConfig& config,
                                               const DraftRoom& room) override;
  void prefill(TokenSpan /*tokens*/) override {}

 private:
  std::shared_ptr<const AnswerStore> store_;
};

}  // namespace predgen
