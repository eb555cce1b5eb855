#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/report/run_history.h"

namespace predgen::train {

/// Tags under "train/" that are losses.
std::vector<std::string> loss_names(const RunHistory& history);

/// A line thinned to what a screen can show: the mean, lowest and highest value of adjacent
/// steps.
struct ThinLine {
  std::vector<double> steps{}, means{}, lowest{}, highest{};
};
/// Values that are not finite are left out.
ThinLine thin(const Series& series, int64_t last_step, size_t most);

/// HTML of the logged curves: a <figure> for each chart that has values, with the values for the
/// page's script.
std::string run_charts(const RunHistory& history);

}  // namespace predgen::train
