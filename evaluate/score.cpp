#include "evaluate/score.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/error.h"
#include "core/stop.h"

namespace predgen::evaluate {

double sum_logprobs(const LanguageModel& model, TokenSpan prompt, TokenSpan answer) {
  PREDGEN_CHECK(!prompt.empty() && !answer.empty(), "nothing to score");
  const c10::InferenceMode inference;
  // The answer's last token predicts nothing of interest, so it is not run.
  TokenIds ids(prompt.begin(), prompt.end());
  ids.insert(ids.end(), answer.begin(), answer.end() - 1);
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(static_cast<int64_t>(ids.size()));
  const at::Tensor logits_NV = model.forward(
      {.state = cache.get(), .tokens = ids, .num_logits = static_cast<int64_t>(answer.size())});
  const at::Tensor targets_N = at::tensor(at::IntArrayRef(answer.data(), answer.size()), at::kLong);
  return logits_NV.to(at::kDouble)
      .log_softmax(-1)
      .gather(1, targets_N.to(logits_NV.device()).unsqueeze(1))
      .sum()
      .item<double>();
}

double top2_margin(const LanguageModel& model, TokenSpan prompt, TokenSpan answer) {
  PREDGEN_CHECK(!prompt.empty(), "nothing to score");
  const c10::InferenceMode inference;
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(static_cast<int64_t>(prompt.size() + answer.size()));
  at::Tensor logits_1V = model.forward({.state = cache.get(), .tokens = prompt});
  for (size_t i = 0; i < answer.size(); ++i) {
    logits_1V = model.forward({.state = cache.get(), .tokens = answer.subspan(i, 1)});
  }
  const at::Tensor best = std::get<0>(logits_1V.squeeze(0).topk(2)).to(at::kCPU, at::kDouble);
  return (best[0] - best[1]).item<double>();
}

RowScore score_row(const LanguageModel& model, TokenSpan tokens, KeepLogits keep,
                   const std::stop_token& stop) {
  constexpr int64_t kChunk = 512;
  const auto num_tokens = static_cast<int64_t>(tokens.size());
  const at::Tensor tokens_T = at::tensor(TokenIds(tokens.begin(), tokens.end()), at::kLong);
  KvPool pool(model.kv_layout());
  const std::unique_ptr<SequenceState> cache = pool.make_state(num_tokens);
  RowScore score;
  std::vector<at::Tensor> kept;
  for (int64_t begin = 0; begin < num_tokens; begin += kChunk) {
    throw_if_stopped(stop);
    const int64_t length = std::min(kChunk, num_tokens - begin);
    const TokenSpan chunk = tokens.subspan(begin, length);
    const at::Tensor logits_TV =
        model.forward({.state = cache.get(), .tokens = chunk, .num_logits = length});
    if (keep == KeepLogits::kYes) kept.push_back(logits_TV.cpu());
    const int64_t num_targets = std::min(length, num_tokens - begin - 1);
    const at::Tensor targets = tokens_T.narrow(0, begin + 1, num_targets).to(logits_TV.device());
    const at::Tensor logprobs = at::log_softmax(logits_TV.narrow(0, 0, num_targets), -1)
                                    .gather(-1, targets.unsqueeze(-1))
                                    .to(at::kCPU, at::kDouble)
                                    .contiguous();
    const double* values = logprobs.const_data_ptr<double>();
    score.logprobs.insert(score.logprobs.end(), values, values + num_targets);
  }
  for (const double logprob : score.logprobs) {
    if (std::isnan(logprob)) throw Error("the model computes NaN; are its weights damaged?");
  }
  if (keep == KeepLogits::kYes) score.logits_TV = at::cat(kept);
  return score;
}

double perplexity(const std::vector<RowScore>& rows) {
  double total = 0.0, count = 0.0;
  for (const RowScore& score : rows) {
    for (const double logprob : score.logprobs) total += logprob;
    count += static_cast<double>(score.logprobs.size());
  }
  return std::exp(-total / count);
}

}  // namespace predgen::evaluate
