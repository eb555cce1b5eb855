#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/report/run_history.h"

namespace predgen::train {

struct ChartLine {
  std::string name;
  Series series;
};

/// Lines over the steps of a run.
struct Chart {
  std::string title;  // with the unit
  std::vector<ChartLine> lines{};
  bool from_zero = false;   // the axis of values begins at 0
  bool may_be_log = false;  // a logarithmic one if the values differ by more than a factor of 30
  std::vector<SkippedStep> skipped{};  // marked at the bottom
};

/// A line thinned to what a screen can show: the mean, lowest and highest value of steps beside
/// each other.
struct ThinLine {
  std::vector<double> steps{}, means{}, lowest{}, highest{};
};
/// Values that are not finite are left out.
ThinLine thin(const Series& series, int64_t last_step, size_t most);

/// A <figure> with an inline SVG, its legend, and its values for the page's script; empty if there
/// is no value. The steps go from 0 to `last_step`.
std::string chart_figure(const Chart& chart, int64_t last_step);

}  // namespace predgen::train
