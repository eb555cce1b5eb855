#include "evaluate/score.h"

#include "core/error.h"

namespace predgen {

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

}  // namespace predgen
