#include "runtime/speculate/greedy_verifier.h"

#include <algorithm>

#include "runtime/generate/sampler.h"

namespace predgen {

Verification GreedyVerifier::verify(const Draft& draft, const VerifierContext&) {
  const TokenIds choices = argmax_rows(draft.logits_DV);
  return {.num_accepted = std::ranges::mismatch(draft.tokens, choices).in1 - draft.tokens.begin()};
}

}  // namespace predgen
