#pragma once

#include <memory>

#include "runtime/generate/answer_store.h"
#include "runtime/generate/draft_source.h"

namespace predgen {

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
