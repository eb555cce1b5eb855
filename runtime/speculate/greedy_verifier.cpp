#include "runtime/speculate/greedy_verifier.h"

namespace predgen {

int64_t GreedyVerifier::verify(const Draft& draft, const DraftLogits& logits) {
  return count_accepted(draft, logits.most_likely);
}

}  // namespace predgen
