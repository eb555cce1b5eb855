#include "runtime/speculate/verifier.h"

#include "text/stop_tokens.h"

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

}  // namespace predgen
