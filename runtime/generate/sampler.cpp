#include "runtime/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "core/error.h"
#include "model/language_model.h"

namespace predgen {

TokenIds argmax_rows(const at::Tensor& logits_NV) {
  const at::Tensor best_N =
      read_pass([&] { return most_likely(logits_NV).to(at::kCPU).contiguous(); });
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
  if (!std::isfinite(frequency_penalty) || !std::isfinite(presence_penalty)) {
    throw UserError("a penalty is {} or {}, but must be a number", frequency_penalty,
                    presence_penalty);
  }
  if (penalty_window < -1) {
    throw UserError("penalties see {} tokens, but must see 0 or more (-1: all)", penalty_window);
  }
  if (top_k < 0) throw UserError("top-k is {}, but must be 0 (all) or more", top_k);
  if (!(top_p > 0 && top_p <= 1)) throw UserError("top-p is {}, but must be in (0, 1]", top_p);
  if (!(min_p >= 0 && min_p <= 1)) throw UserError("min-p is {}, but must be in [0, 1]", min_p);
}

bool SamplingConfig::changes_logits() const {
  return repetition_penalty != 1 || frequency_penalty != 0 || presence_penalty != 0 ||
         !logit_bias.empty();
}

Sampler::Sampler(const SamplingConfig& config, uint64_t answer)
    : config_(config), seed_(Random(config.seed, "sampler", answer).next()) {
  config.validate();
}

namespace {

// Sorting a whole vocabulary takes longer than a pass. The token drawn is nearly always in here.
constexpr int64_t kFirst = 1024;
// Of the total weight: far more than the effect of the order of summation.
constexpr double kRounding = 1e-9;

/// Those of the k most likely, and equals of the k-th, as in transformers: int64, ascending.
at::Tensor most_likely_ids(const at::Tensor& scaled_V, int64_t k) {
  const at::Tensor kth = std::get<0>(scaled_V.topk(k, -1, true, /*sorted=*/false)).min();
  return (scaled_V < kth).logical_not().nonzero().view(-1);
}

/// Tokens by descending likelihood, equals by ascending id; weights are relative to the first
/// one's.
struct Ranking {
  explicit Ranking(const at::Tensor& scaled_N) {
    const auto [sorted, order] = scaled_N.sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
    order_N = order;
    weights.resize(static_cast<size_t>(sorted.numel()));
    const double* logits = sorted.const_data_ptr<double>();
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::exp(logits[i] - logits[0]);
    total = std::accumulate(weights.begin(), weights.end(), 0.0);
  }

  std::vector<double> weights;
  double total = 0.0;
  at::Tensor order_N;
};

/// Draws from the first tokens of a ranking. nullopt if the others could change the draw.
class Draw {
 public:
  /// `of_all`: the weight of these and the others, up to rounding; nullopt: there are no others.
  Draw(const Ranking& ranking, std::optional<double> of_all)
      : weights_(ranking.weights),
        total_(of_all.value_or(ranking.total)),
        has_rest_(of_all.has_value()) {}

  std::optional<size_t> operator()(const SamplingConfig& config, double uniform) {
    if (config.top_p < 1 && !cut_top_p(config.top_p)) return {};
    if (config.min_p > 0) {  // the first weight is 1
      if (has_rest_ && weights_.back() >= config.min_p) return {};
      std::erase_if(weights_, [&](double weight) { return weight < config.min_p; });
      keep_all();
    }
    double left = uniform * total_;
    size_t chosen = 0;
    while (chosen + 1 < weights_.size() && left >= weights_[chosen]) {
      left -= weights_[chosen++];
      if (is_close(left)) return {};
    }
    if (has_rest_ && (left >= weights_[chosen] || is_close(weights_[chosen] - left))) return {};
    return chosen;
  }

 private:
  /// Whether another rounding of the total could decide otherwise.
  bool is_close(double difference) const {
    return has_rest_ && std::abs(difference) < kRounding * total_;
  }
  void keep_all() {
    has_rest_ = false;
    total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  }
  bool cut_top_p(double top_p) {
    double sum = 0;
    size_t n = 0;
    while (n < weights_.size() && sum < top_p * total_) {
      sum += weights_[n++];
      if (is_close(sum - top_p * total_)) return false;
    }
    if (has_rest_ && sum < top_p * total_) return false;
    weights_.resize(std::max<size_t>(n, 1));
    keep_all();
    return true;
  }

  std::vector<double> weights_;
  double total_;
  bool has_rest_;
};

}  // namespace

namespace {

/// `sign` times `values` added to the logits of their tokens.
at::Tensor plus(const at::Tensor& logits_V, const std::map<TokenId, double>& values, double sign) {
  if (values.empty()) return logits_V;
  std::vector<int64_t> ids;
  std::vector<double> numbers;
  for (const auto& [id, value] : values) {
    ids.push_back(id);
    numbers.push_back(sign * value);
  }
  return logits_V.index_add(0, at::tensor(ids, at::kLong).to(logits_V.device()),
                            at::tensor(numbers, at::kDouble).to(logits_V.device()));
}

}  // namespace

at::Tensor Sampler::scaled(const at::Tensor& logits_V, TokenSpan before,
                           int64_t answer_begin) const {
  at::Tensor scaled_V = logits_V.to(at::kDouble);
  if (!config_.logit_bias.empty()) {
    if (config_.logit_bias.rbegin()->first >= scaled_V.numel()) {
      throw UserError("there is no token {} to be biased", config_.logit_bias.rbegin()->first);
    }
    scaled_V = plus(scaled_V, config_.logit_bias, 1);
  }
  const auto seen_from = [&](TokenSpan tokens) {
    const auto window = static_cast<size_t>(config_.penalty_window);  // -1: the largest
    return tokens.last(std::min(tokens.size(), window));
  };
  if (config_.repetition_penalty != 1.0 && !before.empty()) {
    const TokenSpan seen_tokens = seen_from(before);
    const std::set<TokenId> tokens(seen_tokens.begin(), seen_tokens.end());
    const at::Tensor ids = at::tensor(std::vector<int64_t>(tokens.begin(), tokens.end()), at::kLong)
                               .to(scaled_V.device());
    const at::Tensor seen = scaled_V.index_select(0, ids);
    const double penalty = config_.repetition_penalty;
    scaled_V =
        scaled_V.index_copy(0, ids, at::where(seen > 0, seen * (1 / penalty), seen * penalty));
  }
  if (config_.frequency_penalty != 0 || config_.presence_penalty != 0) {
    std::map<TokenId, double> penalties;
    const TokenSpan answer = before.subspan(static_cast<size_t>(answer_begin));
    const TokenSpan seen = seen_from(before);
    for (const TokenId token : answer.last(std::min(answer.size(), seen.size()))) {
      const auto [penalty, is_new] = penalties.try_emplace(token, config_.presence_penalty);
      penalty->second += config_.frequency_penalty;
    }
    scaled_V = plus(scaled_V, penalties, -1);
  }
  if (config_.temperature == 0) return scaled_V;
  // A GPU multiplies by the reciprocal of a number, which rounds otherwise, and divides by a
  // tensor.
  return scaled_V / at::scalar_tensor(config_.temperature, scaled_V.options());
}

TokenId Sampler::sample(const at::Tensor& logits_V, TokenSpan before, int64_t answer_begin,
                        const at::Tensor& allowed_V) const {
  const auto place = static_cast<uint64_t>(std::ssize(before) - answer_begin);
  return read_pass([&] {
    const at::Tensor scaled_V = scaled(logits_V, before, answer_begin);
    if (!allowed_V.defined()) return draw(scaled_V, place);
    const at::Tensor ids = allowed_V.nonzero().view(-1);  // ascending
    return ids[draw(scaled_V.index_select(0, ids), place)].item<int64_t>();
  });
}

int64_t Sampler::draw(const at::Tensor& scaled_V, uint64_t place) const {
  if (config_.temperature == 0) return argmax_rows(scaled_V.unsqueeze(0)).front();
  const double uniform = Random(seed_, "token", place).uniform();
  const int64_t V = scaled_V.numel();
  const auto drawn_of = [&](const at::Tensor& ids, bool is_all) -> std::optional<int64_t> {
    const Ranking ranking(scaled_V.index_select(0, ids).cpu());
    std::optional<double> of_all;
    if (!is_all) of_all = (scaled_V - scaled_V.max()).exp_().sum().item<double>();
    const std::optional<size_t> chosen = Draw(ranking, of_all)(config_, uniform);
    if (!chosen) return {};
    const int64_t in_ids = ranking.order_N[static_cast<int64_t>(*chosen)].item<int64_t>();
    return ids[in_ids].item<int64_t>();
  };
  if (config_.top_k > 0 && config_.top_k < V) {
    return *drawn_of(most_likely_ids(scaled_V, config_.top_k), /*is_all=*/true);
  }
  if (V > kFirst) {
    const at::Tensor ids = most_likely_ids(scaled_V, kFirst);
    if (const auto token = drawn_of(ids, /*is_all=*/ids.numel() == V)) return *token;
  }
  return *drawn_of(at::arange(V, scaled_V.options().dtype(at::kLong)), /*is_all=*/true);
}

}  // namespace predgen
