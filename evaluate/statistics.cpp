#include "evaluate/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/random.h"

namespace predgen {
namespace {

constexpr int64_t kNumResamples = 2000;

double divide(double numerator, double denominator) {
  if (denominator != 0) return numerator / denominator;
  return numerator == 0 ? 1.0 : std::numeric_limits<double>::infinity();
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  PREDGEN_CHECK(!sorted.empty() && q >= 0 && q <= 1, "quantile {} of {} values", q, sorted.size());
  const double place = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  // Equal neighbours are not mixed: two infinities would give NaN.
  if (sorted[below] == sorted[above] || place == static_cast<double>(below)) return sorted[below];
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarize(const std::vector<std::optional<double>>& values) {
  Summary summary;
  std::vector<double> sorted;
  for (const auto& value : values) {
    if (value) sorted.push_back(*value);
  }
  summary.n = static_cast<int64_t>(sorted.size());
  summary.num_null = static_cast<int64_t>(values.size()) - summary.n;
  if (sorted.empty()) return summary;
  std::sort(sorted.begin(), sorted.end());
  summary.mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  summary.p50 = quantile(sorted, 0.50);
  summary.p90 = quantile(sorted, 0.90);
  summary.p99 = quantile(sorted, 0.99);
  return summary;
}

std::optional<Ratio> ratio_of_means(const std::vector<std::optional<double>>& numerator,
                                    const std::vector<std::optional<double>>& denominator,
                                    uint64_t seed) {
  PREDGEN_CHECK(numerator.size() == denominator.size(), "{} and {} turns are not paired",
                numerator.size(), denominator.size());
  std::vector<std::pair<double, double>> pairs;
  for (size_t i = 0; i < numerator.size(); ++i) {
    if (numerator[i] && denominator[i]) pairs.emplace_back(*numerator[i], *denominator[i]);
  }
  if (pairs.empty()) return std::nullopt;
  double above = 0, below = 0;
  for (const auto& [a, b] : pairs) {
    above += a;
    below += b;
  }
  std::vector<double> resampled;
  for (int64_t resample = 0; resample < kNumResamples; ++resample) {
    Random random(seed, "bootstrap", static_cast<uint64_t>(resample));
    double sum_above = 0, sum_below = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto& [a, b] = pairs[random.below(pairs.size())];
      sum_above += a;
      sum_below += b;
    }
    resampled.push_back(divide(sum_above, sum_below));
  }
  std::sort(resampled.begin(), resampled.end());
  return Ratio{divide(above, below), quantile(resampled, 0.025), quantile(resampled, 0.975),
               static_cast<int64_t>(pairs.size())};
}

Json to_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json to_json(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", to_json(std::optional(ratio->value))},
          {"low", to_json(std::optional(ratio->low))},
          {"high", to_json(std::optional(ratio->high))},
          {"n", ratio->n}};
}

Json to_json(const Summary& summary) {
  return {{"mean", to_json(summary.mean)},
          {"p50", to_json(summary.p50)},
          {"p90", to_json(summary.p90)},
          {"p99", to_json(summary.p99)},
          {"n", summary.n},
          {"nulls", summary.num_null}};
}

}  // namespace predgen
