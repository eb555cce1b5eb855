#include "runtime/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/error.h"
#include "model/most_likely.h"

namespace predgen {

TokenIds argmax_rows(const at::Tensor& logits_NV) {
  const at::Tensor best_N = most_likely(logits_NV).to(at::kCPU).contiguous();
  const int64_t* best = best_N.data_ptr<int64_t>();
  return TokenIds(best, best + best_N.numel());
}

void SamplingConfig::validate() const {
  if (!(temperature >= 0) || !std::isfinite(temperature)) {
    throw UserError("temperature is {}, but must be 0 (greedy) or above", temperature);
  }
  if (!(repetition_penalty > 0) || !std::isfinite(repetition_penalty)) {
    throw UserError("repetition penalty is {}, but must be above 0 (1: none)", repetition_penalty);
  }
  if (top_k < 0) throw UserError("top-k is {}, but must be 0 (all) or more", top_k);
  if (!(top_p > 0 && top_p <= 1)) throw UserError("top-p is {}, but must be in (0, 1]", top_p);
  if (!(min_p >= 0 && min_p <= 1)) throw UserError("min-p is {}, but must be in [0, 1]", min_p);
}

Sampler::Sampler(const SamplingConfig& config, uint64_t answer)
    : config_(config), seed_(Random(config.seed, "sampler", answer).next()) {
  config.validate();
}

TokenId Sampler::sample(const at::Tensor& logits_V, TokenSpan before, int64_t answer_begin) const {
  at::Tensor scaled_V = logits_V.to(at::kCPU, at::kDouble).contiguous();
  if (config_.repetition_penalty != 1.0) {
    scaled_V = scaled_V.clone();
    double* logits = scaled_V.mutable_data_ptr<double>();
    for (const TokenId token : std::set<TokenId>(before.begin(), before.end())) {
      logits[token] *=
          logits[token] > 0 ? 1 / config_.repetition_penalty : config_.repetition_penalty;
    }
  }
  if (config_.temperature == 0) return argmax_rows(scaled_V.unsqueeze(0)).front();
  scaled_V = scaled_V / config_.temperature;
  at::Tensor ids_V = at::arange(scaled_V.numel(), at::kLong);
  if (config_.top_k > 0 && config_.top_k < scaled_V.numel()) {
    // Sorting a whole vocabulary takes longer than a pass. Equals of the k-th stay, as in
    // transformers.
    const at::Tensor kth = std::get<0>(scaled_V.topk(config_.top_k)).min();
    ids_V = (scaled_V < kth).logical_not().nonzero().view(-1);
    scaled_V = scaled_V.index_select(0, ids_V);
  }
  // Stable: equals stay in the order of their ids.
  const auto [sorted_V, order_V] = scaled_V.sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const at::Tensor sorted = sorted_V.contiguous(), ids = ids_V.index_select(0, order_V);
  const double* logits = sorted.data_ptr<double>();
  std::vector<double> weights(static_cast<size_t>(sorted.numel()));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::exp(logits[i] - logits[0]);
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (config_.top_p < 1) {
    double sum = 0;
    size_t n = 0;
    while (n < weights.size() && sum < config_.top_p * total) sum += weights[n++];
    weights.resize(std::max<size_t>(n, 1));
    total = std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  if (config_.min_p > 0) {  // the first weight is 1
    std::erase_if(weights, [&](double weight) { return weight < config_.min_p; });
    total = std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  const auto place = static_cast<uint64_t>(std::ssize(before) - answer_begin);
  double left = Random(seed_, "token", place).uniform() * total;
  size_t chosen = 0;
  while (chosen + 1 < weights.size() && left >= weights[chosen]) left -= weights[chosen++];
  return ids.data_ptr<int64_t>()[chosen];
}

}  // namespace predgen
