#include "runtime/speculate/top_k_verifier.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/generate/sampler.h"
#include "text/stop_tokens.h"

namespace predgen {

TopKVerifier::TopKVerifier(int64_t k) : k_(k) {
  if (k < 1) throw UserError("top-k verification needs k of at least 1, not {}", k);
}

Verification TopKVerifier::verify(const Draft& draft, const VerifierContext&) {
  const auto num_tokens = static_cast<int64_t>(draft.tokens.size());
  at::Tensor tokens_D1 = at::empty({num_tokens, 1}, at::kLong);
  std::ranges::copy(draft.tokens, tokens_D1.data_ptr<int64_t>());
  tokens_D1 = tokens_D1.to(draft.logits_DV.device());
  const at::Tensor own_D1 = draft.logits_DV.gather(1, tokens_D1);
  const at::Tensor num_greater_D =
      (draft.logits_DV > own_D1).sum(-1).to(at::kCPU, at::kLong).contiguous();
  const int64_t* num_greater = num_greater_D.data_ptr<int64_t>();
  const TokenIds choices = argmax_rows(draft.logits_DV);

  int64_t accepted = 0;
  for (; accepted < num_tokens; ++accepted) {
    const auto i = static_cast<size_t>(accepted);
    const TokenId token = draft.tokens[i];
    const bool relaxed =
        accepted < draft.first_sentence && !is_stop_token(draft.stop_tokens, token);
    if (token != choices[i] && !(relaxed && num_greater[i] < k_)) break;
  }
  return {.num_accepted = accepted};
}

}  // namespace predgen
