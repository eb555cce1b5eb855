#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace predgen::train {

/// The gradient norms of the last steps that were taken, which say what is usual. A median, unlike
/// a mean and its deviation (llm.c and OLMo skip steps by these), is not moved by the outliers that
/// it is to find, nor does it call steps of nearly equal norms outliers.
class GradientNorms {
 public:
  static constexpr size_t kMost = 128;   // steps looked back on
  static constexpr size_t kFewest = 32;  // before there is a median

  GradientNorms() = default;
  /// What values() gave; the newest kMost count.
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
