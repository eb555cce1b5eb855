#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace predgen::train {

/// The gradient norms of the last steps taken, from which outliers are judged. Their median, unlike
/// mean and deviation (by which llm.c and OLMo skip steps), is not shifted by the outliers that it
/// must detect, and does not flag outliers among nearly equal norms.
class GradientNorms {
 public:
  static constexpr size_t kMost = 128;   // steps looked back on
  static constexpr size_t kFewest = 32;  // needed for a median

  GradientNorms() = default;
  /// Restores values(); the newest kMost are kept.
  explicit GradientNorms(std::vector<double> oldest_first);

  void add(double norm);
  std::optional<double> median() const;
  /// Whether `norm` is more than `factor` times the median; factor 0: never.
  bool is_outlier(double norm, double factor) const;

  const std::vector<double>& values() const { return values_; }  // the oldest first

 private:
  std::vector<double> values_;
};

}  // namespace predgen::train
