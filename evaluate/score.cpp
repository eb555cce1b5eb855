#include "evaluate/score.h"

#include "core/error.h"

namespace predgen::evaluate {

double sum_logprobs(const LanguageModel& model, TokenSpan prompt, TokenSpan answer) {
  PREDGEN_CHECK(!prompt.empty() && !answer.empty(), "nothing to score");
  const c10::InferenceMode inference;
  // The answer's last token predicts nothing that is asked for, so it is not run.
  TokenIds ids(prompt.begin(), prompt.end());
  ids.insert(ids.end(), answer.begin(), answer.end() - 1);
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_cache(static_cast<int64_t>(ids.size()));
  const at::Tensor logits_NV = model.forward(
      {.cache = cache.get(), .tokens = ids, .num_logits = static_cast<int64_t>(answer.size())});
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
  const auto cache = pool.make_cache(static_cast<int64_t>(prompt.size() + answer.size()));
  at::Tensor logits_1V = model.forward({.cache = cache.get(), .tokens = prompt});
  for (size_t i = 0; i < answer.size(); ++i) {
    logits_1V = model.forward({.cache = cache.get(), .tokens = answer.subspan(i, 1)});
  }
  const at::Tensor best = std::get<0>(logits_1V.squeeze(0).topk(2)).to(at::kCPU, at::kDouble);
  return (best[0] - best[1]).item<double>();
}

}  // namespace predgen::evaluate
