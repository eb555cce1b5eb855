#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace predgen::train {

enum class ScheduleKind { kConstant, kLinear, kCosine };

/// The kinds by their names in configurations.
const std::vector<std::pair<std::string, ScheduleKind>>& schedule_kinds();

struct LrSchedule {
  ScheduleKind kind = ScheduleKind::kCosine;
  double peak = 1e-4;
  double min_ratio = 0.0;  // share of the peak at which linear and cosine end
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;
};

/// The learning rate of a step in [1, total_steps]: rises as step / (warmup_steps + 1), then falls
/// from the peak; no step is spent at exactly 0 or at the very end of the curve.
double learning_rate(const LrSchedule& schedule, int64_t step);

}  // namespace predgen::train
