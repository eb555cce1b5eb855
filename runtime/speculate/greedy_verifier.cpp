#include "runtime/speculate/greedy_verifier.h"

#include <algorithm>

#include "runtime/generate/sampler.h"

namespace predgen {

int64_t GreedyVerifier::count_accepted(const Draft& draft) {
  const TokenIds choices = argmax_rows(draft.logits_DV);
  return std::ranges::mismatch(draft.tokens, choices).in1 - draft.tokens.begin();
}

}  // namespace predgen
