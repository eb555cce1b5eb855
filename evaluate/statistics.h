#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

struct Summary {
  std::optional<double> mean, p50, p90, p95, p99;  // nullopt when n is 0
  int64_t n = 0;
  int64_t num_null = 0;  // turns without a value: counted, left out
};
Summary summarize(const std::vector<std::optional<double>>& values);

/// Quantile q in [0,1] with linear interpolation between order statistics (numpy's default).
/// `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double q);

/// A figure over paired turns, with the 95 % percentile interval of 2,000 bootstrap resamples.
struct Estimate {
  double value = 0, low = 0, high = 0;
  int64_t n = 0;  // turns where both have a value
};
/// mean(numerator) / mean(denominator), infinite if the denominator is 0. Entry i of both belongs
/// to turn i. nullopt: no turn has both.
std::optional<Estimate> ratio_of_means(const std::vector<std::optional<double>>& numerator,
                                       const std::vector<std::optional<double>>& denominator,
                                       uint64_t seed);
/// mean(after - before). Entry i of both belongs to turn i. nullopt: no turn has both.
std::optional<Estimate> mean_difference(const std::vector<std::optional<double>>& before,
                                        const std::vector<std::optional<double>>& after,
                                        uint64_t seed);

/// As results.json has them: null for a missing or infinite value.
Json to_json(const std::optional<double>& value);
Json to_json(const Summary& summary);
/// The value is called `name`.
Json to_json(const std::optional<Estimate>& estimate, const char* name = "ratio");

/// A share of turns, with the 95 % interval of Wilson's score.
struct Share {
  double value = 0, low = 0, high = 0;
};
/// `count` of `n` turns; n >= 1.
Share share_of(int64_t count, int64_t n);

}  // namespace predgen::evaluate
