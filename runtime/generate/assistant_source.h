#pragma once

#include "runtime/engine/engine.h"
#include "runtime/generate/draft_source.h"
#include "runtime/generate/draft_width.h"

namespace predgen {

/// What a model that was made to guess for the running one says, as one continuation
/// (AssistantSpec; Gemma 4's assistants, and transformers'
/// SinglePositionMultiTokenCandidateGenerator). All guesses are made at the place of the last
/// token: each reads the model's keys and values of the tokens before it, and the hidden state of
/// the last of these, or its own of the guess before. It keeps nothing of a text. Draws as
/// ModelSource does; its passes count in its own engine.
class AssistantSource : public DraftSource {
 public:
  /// Whether the model of this engine is an assistant, as this source takes.
  static bool can_use(const Engine& engine) { return !engine.pool().layout().read_layers.empty(); }

  /// Borrows its engine. `width`: how long a draft is worth its passes.
  AssistantSource(Engine& engine, DraftWidth width);

  /// Asks should_stop between its passes. Proposes nothing before the model has read all tokens but
  /// the last.
  std::optional<std::vector<TokenIds>> propose(TokenSpan tokens, std::span<const TokenIds> drafts,
                                               const GenerationConfig& config,
                                               const DraftRoom& room) override;
  /// It reads what the model has read.
  void prefill(TokenSpan /*tokens*/) override {}

 private:
  Engine& engine_;
  DraftWidth width_;
  MadeDraft last_;
  Sequence sequence_;  // of one token
};

}  // namespace predgen
