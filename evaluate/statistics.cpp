#include "evaluate/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/random.h"

namespace predgen::evaluate {
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
  // Equal neighbours are not interpolated: two infinities would give NaN.
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
  summary.p95 = quantile(sorted, 0.95);
  summary.p99 = quantile(sorted, 0.99);
  return summary;
}

namespace {

/// `figure` of both sums over the turns that have both values, and of the number of turns.
std::optional<Estimate> bootstrap(const std::vector<std::optional<double>>& first,
                                  const std::vector<std::optional<double>>& second, uint64_t seed,
                                  double (*figure)(double first, double second, double n)) {
  PREDGEN_CHECK(first.size() == second.size(), "{} and {} turns are not paired", first.size(),
                second.size());
  std::vector<std::pair<double, double>> pairs;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] && second[i]) pairs.emplace_back(*first[i], *second[i]);
  }
  if (pairs.empty()) return std::nullopt;
  const auto n = static_cast<double>(pairs.size());
  const auto figure_of = [&](const auto& pair_at) {
    double sums[2] = {0, 0};
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto& [a, b] = pair_at(i);
      sums[0] += a;
      sums[1] += b;
    }
    return figure(sums[0], sums[1], n);
  };
  std::vector<double> resampled;
  for (int64_t resample = 0; resample < kNumResamples; ++resample) {
    Random random(seed, "bootstrap", static_cast<uint64_t>(resample));
    resampled.push_back(
        figure_of([&](size_t) -> const auto& { return pairs[random.below(pairs.size())]; }));
  }
  std::sort(resampled.begin(), resampled.end());
  return Estimate{figure_of([&](size_t i) -> const auto& { return pairs[i]; }),
                  quantile(resampled, 0.025), quantile(resampled, 0.975),
                  static_cast<int64_t>(pairs.size())};
}

}  // namespace

std::optional<Estimate> ratio_of_means(const std::vector<std::optional<double>>& numerator,
                                       const std::vector<std::optional<double>>& denominator,
                                       uint64_t seed) {
  return bootstrap(numerator, denominator, seed,
                   [](double above, double below, double) { return divide(above, below); });
}

std::optional<Estimate> mean_difference(const std::vector<std::optional<double>>& before,
                                        const std::vector<std::optional<double>>& after,
                                        uint64_t seed) {
  return bootstrap(before, after, seed,
                   [](double earlier, double later, double n) { return (later - earlier) / n; });
}

Json to_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json to_json(const std::optional<Estimate>& estimate, const char* name) {
  if (!estimate) return nullptr;
  return {{name, to_json(std::optional(estimate->value))},
          {"low", to_json(std::optional(estimate->low))},
          {"high", to_json(std::optional(estimate->high))},
          {"n", estimate->n}};
}

Json to_json(const Summary& summary) {
  return {{"mean", to_json(summary.mean)}, {"p50", to_json(summary.p50)},
          {"p90", to_json(summary.p90)},   {"p95", to_json(summary.p95)},
          {"p99", to_json(summary.p99)},   {"n", summary.n},
          {"nulls", summary.num_null}};
}

Share share_of(int64_t count, int64_t n) {
  PREDGEN_CHECK(n >= 1 && count >= 0 && count <= n, "{} of {} turns", count, n);
  constexpr double kZ = 1.959963984540054;  // of 97.5 % of the normal distribution
  const auto size = static_cast<double>(n);
  const double share = static_cast<double>(count) / size, spread = kZ * kZ / size;
  const double middle = (share + spread / 2) / (1 + spread);
  const double half = kZ * std::sqrt(share * (1 - share) / size + spread / size / 4) / (1 + spread);
  return {share, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace predgen::evaluate
