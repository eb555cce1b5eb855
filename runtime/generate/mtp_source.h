#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/draft_source.h"
#include "runtime/generate/draft_width.h"

namespace predgen {

/// DraftSource::propose() by up to `width` guesses after `tokens`, in a pass each. `run` returns
/// the logits after the last token, `append` goes on by a guess. `made` becomes the draft, unless
/// it was stopped.
std::optional<std::vector<TokenIds>> guess_one_by_one(TokenSpan tokens, int64_t width,
                                                      const GenerationConfig& config,
                                                      const DraftRoom& room,
                                                      const std::function<EngineResult()>& run,
                                                      const std::function<void(TokenId)>& append,
                                                      MadeDraft& made);

/// What the layer that a model was published with to guess its next tokens says, as one
/// continuation (ModelConfig::mtp(); DeepSeek-V3, arXiv 2412.19437, section 2.2). It reads the
/// model's hidden states of all tokens but the last (Sequence::hidden_SE()), and for each guess
/// after the first its own of the guess before. Draws as ModelSource does; its passes count in its
/// own engine.
class MtpSource : public DraftSource {
 public:
  /// Borrows the engine of the layer. `width`: how long a draft is worth its passes.
  MtpSource(Engine& engine, DraftWidth width);

  /// Asks should_stop between its passes. Proposes nothing before the model has read all tokens but
  /// the last.
  std::optional<std::vector<TokenIds>> propose(TokenSpan tokens, std::span<const TokenIds> drafts,
                                               const GenerationConfig& config,
                                               const DraftRoom& room) override;
  /// There is nothing to read before the model has run.
  void prefill(TokenSpan /*tokens*/) override {}

 private:
  Engine& engine_;
  DraftWidth width_;
  MadeDraft last_;
  /// The tokens that it was asked about last, but for the first: each beside the hidden state of
  /// the one before it.
  Sequence sequence_;
  TokenId first_ = kNoToken;  // before them
};

}  // namespace predgen
