#include "runtime/generate/sequence_pass.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {

at::Tensor run_pending(const LanguageModel& model, Sequence& sequence, TokenSpan guess) {
  const TokenSpan pending = sequence.pending();
  PREDGEN_CHECK(!pending.empty(), "nothing to run");
  at::Tensor input_T = at::empty({static_cast<int64_t>(pending.size() + guess.size())}, at::kLong);
  std::ranges::copy(guess, std::ranges::copy(pending, input_T.data_ptr<int64_t>()).out);
  ForwardInput input;
  input.tokens_BT = input_T.unsqueeze(0);
  input.num_logits = static_cast<int64_t>(guess.size()) + 1;
  return model.forward(input, *sequence.cache).squeeze(0);
}

bool contains(TokenSpan tokens, TokenId token) {
  return std::ranges::find(tokens, token) != tokens.end();
}

bool commit_tokens(Sequence& sequence, TokenSpan tokens, const GenerationConfig& config,
                   const TokenCallback& on_tokens, GenerationResult& result) {
  const auto stop = std::ranges::find_if(
      tokens, [&](TokenId token) { return contains(config.stop_tokens, token); });
  const int64_t until_stop = stop - tokens.begin() + (stop == tokens.end() ? 0 : 1);
  const int64_t count = std::min(until_stop, config.max_new_tokens - result.num_new_tokens);
  tokens = tokens.first(static_cast<size_t>(count));
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  sequence.cache->truncate(
      std::min(sequence.cache->length(), static_cast<int64_t>(sequence.tokens.size()) - 1));
  result.num_new_tokens += count;
  const bool stopped = count > 0 && contains(config.stop_tokens, tokens.back());
  const bool wanted = !on_tokens || on_tokens(tokens);
  if (stopped) {
    result.stop_reason = StopReason::kStopToken;
  } else if (!wanted) {
    result.stop_reason = StopReason::kCancelled;
  }
  return !stopped && wanted;
}

bool has_room(const Sequence& sequence, const GenerationConfig& config, GenerationResult& result) {
  if (result.num_new_tokens >= config.max_new_tokens) {
    result.stop_reason = StopReason::kMaxNewTokens;
    return false;
  }
  if (static_cast<int64_t>(sequence.tokens.size()) > sequence.cache->capacity()) {
    result.stop_reason = StopReason::kCacheFull;
    return false;
  }
  return true;
}

}  // namespace predgen
