#pragma once

#include "runtime/generate/draft_source.h"

namespace predgen {

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

}  // namespace predgen
