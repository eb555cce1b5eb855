#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/draft_source.h"
#include "runtime/generate/draft_width.h"
#include "runtime/generate/generator.h"
#include "text/tokenizer.h"

namespace predgen {

/// What a smaller model with the same tokenizer would say, as one continuation. With a sampler it
/// draws with the same random numbers, so models that agree draw the same token. Its passes count
/// in its own engine. (Speculative decoding: Leviathan et al., arXiv 2211.17192; checked here like
/// any other draft, so it changes no text.)
class ModelSource : public DraftSource {
 public:
  /// Borrows the engine of the draft model. `vocab_size`: of the model that checks the drafts;
  /// either may have more ids, as padding of its tables. `width`: how long a draft is worth its
  /// passes.
  ModelSource(Engine& engine, int64_t vocab_size, DraftWidth width);

  /// Asks should_stop between its passes, and ends when the room is used up. Proposes nothing if
  /// `tokens` do not fit into its context.
  std::optional<std::vector<TokenIds>> propose(TokenSpan tokens, std::span<const TokenIds> drafts,
                                               const GenerationConfig& config,
                                               const DraftRoom& room) override;
  /// Does nothing if it would draft nothing.
  void prefill(TokenSpan tokens) override;

 private:
  /// Whether the draft model has all of these ids.
  bool knows(TokenSpan tokens) const;
  /// Learns how much of the last draft was right.
  void learn(TokenSpan tokens);

  Engine& engine_;
  AutoregressiveGenerator generator_;
  const int64_t num_ids_;  // that both models have
  DraftWidth width_;
  Sequence sequence_;        // the tokens that it was asked about last, and its draft
  int64_t draft_begin_ = 0;  // in sequence_; its end: no draft to learn from
};

/// The checkpoint of a draft model for `model`, as `--draft-model` names it; null if that is empty
/// or kOwnLayer. UserError unless its tokenizer gives the same ids as `tokenizer`, that of `model`
/// (null: not compared).
std::unique_ptr<const Checkpoint> open_draft_model(const std::string& draft_model,
                                                   const Checkpoint& model,
                                                   const Tokenizer* tokenizer);

}  // namespace predgen
