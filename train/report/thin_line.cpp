#include "train/report/thin_line.h"

#include <algorithm>
#include <cmath>

namespace predgen::train {

ThinLine thin(const Series& series, int64_t last_step, size_t most) {
  ThinLine line;
  const size_t size = series.steps.size();
  const double width = static_cast<double>(last_step + 1) / static_cast<double>(most);
  double bucket = -1.0, count = 0.0;
  for (size_t i = 0; i < size; ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value)) continue;
    const auto step = static_cast<double>(series.steps[i]);
    // Few enough: each value on its own.
    const double place = size <= most ? static_cast<double>(i) : std::floor(step / width);
    if (place != bucket) {
      bucket = place;
      count = 0.0;
      line.steps.push_back(0.0);
      line.means.push_back(0.0);
      line.lowest.push_back(value);
      line.highest.push_back(value);
    }
    ++count;
    line.steps.back() += (step - line.steps.back()) / count;
    line.means.back() += (value - line.means.back()) / count;
    line.lowest.back() = std::min(line.lowest.back(), value);
    line.highest.back() = std::max(line.highest.back(), value);
  }
  return line;
}

}  // namespace predgen::train
