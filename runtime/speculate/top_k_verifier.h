#pragma once

#include <cstdint>

#include "runtime/speculate/verifier.h"

namespace predgen {

/// Accepts a token while fewer than k logits are strictly greater than its own; only within the
/// first sentence and never for stop tokens, which like everything after it must be the most
/// likely token. k = 1 differs from greedy only at exact ties.
class TopKVerifier : public Verifier {
 public:
  explicit TopKVerifier(int64_t k);
  std::optional<EngineRequest> ask(const Draft&, const Sequence&) override { return {}; }
  int64_t num_sentences() const override { return 1; }
  bool is_exact() const override { return false; }
  int64_t verify(const Draft& draft, const DraftLogits& logits) override;

 private:
  int64_t k_;
};

}  // namespace predgen
