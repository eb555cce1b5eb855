#pragma once

#include "runtime/speculate/verifier.h"

namespace predgen {

/// Accepts while every token is the most likely one: the text is the same as without a draft.
class GreedyVerifier : public Verifier {
 public:
  std::optional<EngineRequest> ask(const Draft&, const Sequence&) override { return {}; }
  int64_t num_sentences() const override { return 1; }
  bool is_exact() const override { return true; }
  int64_t verify(const Draft& draft, const DraftLogits& logits) override;
};

}  // namespace predgen
