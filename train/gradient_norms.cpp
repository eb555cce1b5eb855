#include "train/gradient_norms.h"

#include <algorithm>

namespace predgen::train {

GradientNorms::GradientNorms(std::vector<double> oldest_first) : values_(std::move(oldest_first)) {
  if (values_.size() > kMost) values_.erase(values_.begin(), values_.end() - kMost);
}

void GradientNorms::add(double norm) {
  if (values_.size() == kMost) values_.erase(values_.begin());
  values_.push_back(norm);
}

std::optional<double> GradientNorms::median() const {
  if (values_.size() < kFewest) return std::nullopt;
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

bool GradientNorms::is_outlier(double norm, double factor) const {
  const std::optional<double> usual = median();
  return factor > 0 && usual && norm > factor * *usual;
}

}  // namespace predgen::train
