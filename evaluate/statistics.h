#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace predgen {

struct Summary {
  std::optional<double> mean, p50, p90, p99;  // nothing when n is 0
  int64_t n = 0;
  int64_t num_null = 0;  // turns without a value: counted, left out
};
Summary summarize(const std::vector<std::optional<double>>& values);

/// Quantile q in [0,1] with linear interpolation between order statistics (numpy's default).
/// `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double q);

/// mean(numerator) / mean(denominator) over the turns where both have a value, and the 95 %
/// percentile interval of 2,000 bootstrap resamples of turns. Values may be infinite when a
/// denominator is 0.
struct Ratio {
  double value = 0, low = 0, high = 0;
  int64_t n = 0;
};
/// Entry i of both belongs to turn i. Nothing: no turn has both.
std::optional<Ratio> ratio_of_means(const std::vector<std::optional<double>>& numerator,
                                    const std::vector<std::optional<double>>& denominator,
                                    uint64_t seed);

/// A share of turns, with the 95 % interval of Wilson's score.
struct Share {
  double value = 0, low = 0, high = 0;
};
/// `count` of `n` turns; n >= 1.
Share share_of(int64_t count, int64_t n);

}  // namespace predgen
