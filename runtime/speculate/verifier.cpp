#include "runtime/speculate/verifier.h"

#include <algorithm>

#include "core/error.h"
#include "text/token_ids.h"

namespace predgen {

int64_t count_accepted(const Draft& draft, TokenSpan most_likely,
                       const std::function<bool(int64_t)>& also) {
  for (size_t i = 0; i < draft.tokens.size(); ++i) {
    const TokenId token = draft.tokens[i];
    if (token == most_likely[i]) continue;
    const auto place = static_cast<int64_t>(i);
    if (!also || is_stop_token(draft.stop_tokens, token) || !also(place)) return place;
  }
  return static_cast<int64_t>(draft.tokens.size());
}

int64_t GreedyVerifier::verify(const Draft& draft, const DraftLogits& logits) {
  return count_accepted(draft, logits.most_likely);
}

TopKVerifier::TopKVerifier(int64_t k) : k_(k) {
  if (k < 1) throw UserError("top-k verification needs k of at least 1, not {}", k);
}

int64_t TopKVerifier::verify(const Draft& draft, const DraftLogits& logits) {
  const at::Tensor& logits_DV = logits.logits_DV;
  at::Tensor tokens_D1 = at::empty({static_cast<int64_t>(draft.tokens.size()), 1}, at::kLong);
  std::ranges::copy(draft.tokens, tokens_D1.data_ptr<int64_t>());
  const at::Tensor own_D1 = logits_DV.gather(1, tokens_D1.to(logits_DV.device()));
  const at::Tensor num_greater_D =
      (logits_DV > own_D1).sum(-1).to(at::kCPU, at::kLong).contiguous();
  const int64_t* num_greater = num_greater_D.data_ptr<int64_t>();
  return count_accepted(draft, logits.most_likely,
                        [&](int64_t i) { return i < draft.first_sentence && num_greater[i] < k_; });
}

}  // namespace predgen
