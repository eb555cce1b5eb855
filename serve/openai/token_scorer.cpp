#include "serve/openai/token_scorer.h"

#include <algorithm>

namespace predgen::serve {

std::string TokenScorer::text(int64_t id) const {
  // A model may have more logits than tokens.
  if (id >= tokenizer_.vocab_size()) return "";
  const auto token = static_cast<TokenId>(id);
  return tokenizer_.decode_next({&token, 1}, /*keep_special=*/true);
}

std::vector<TokenScore> TokenScorer::score(const Sequence& sequence, int64_t count) {
  const TokenSpan tokens = sequence.tokens().last(static_cast<size_t>(count));
  if (!before_) {
    before_ = sequence.fork();
    before_->truncate(sequence.size() - count);
  }
  const EngineResult pass =
      engine_.run({.sequence = &*before_, .draft = tokens.first(tokens.size() - 1)});
  before_->append(tokens);
  const at::Tensor logprobs_TV = pass.logits.value().log_softmax(-1);
  const int64_t num_top = std::min(num_top_, logprobs_TV.size(1));
  std::vector<TokenScore> scores;
  for (int64_t t = 0; t < count; ++t) {
    const TokenId token = tokens[static_cast<size_t>(t)];
    TokenScore score{.token = text(token), .logprob = logprobs_TV[t][token].item<double>()};
    if (num_top > 0) {
      const auto [values_K, ids_K] = logprobs_TV[t].topk(num_top);
      for (int64_t k = 0; k < num_top; ++k) {
        score.top.emplace_back(text(ids_K[k].item<int64_t>()), values_K[k].item<double>());
      }
    }
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace predgen::serve
