#pragma once

#include <cstdint>
#include <vector>

#include "train/report/run_history.h"

namespace predgen::train {

/// A line thinned to what a screen can show: the mean, lowest and highest value of adjacent
/// steps.
struct ThinLine {
  std::vector<double> steps{}, means{}, lowest{}, highest{};
};
/// Values that are not finite are left out.
ThinLine thin(const Series& series, int64_t last_step, size_t most);

}  // namespace predgen::train
