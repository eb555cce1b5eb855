#include "train/optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace predgen::train {

const std::vector<std::pair<std::string, ScheduleKind>>& schedule_kinds() {
  static const std::vector<std::pair<std::string, ScheduleKind>> kinds{
      {"constant", ScheduleKind::kConstant},
      {"linear", ScheduleKind::kLinear},
      {"cosine", ScheduleKind::kCosine}};
  return kinds;
}

double learning_rate(const LrSchedule& schedule, int64_t step) {
  if (step <= schedule.warmup_steps) {
    return schedule.peak * static_cast<double>(step) /
           static_cast<double>(schedule.warmup_steps + 1);
  }
  const double span =
      static_cast<double>(std::max<int64_t>(1, schedule.total_steps - schedule.warmup_steps));
  const double progress =
      std::min(1.0, static_cast<double>(step - 1 - schedule.warmup_steps) / span);
  double fraction = 1.0;
  if (schedule.kind == ScheduleKind::kLinear) fraction = 1.0 - progress;
  if (schedule.kind == ScheduleKind::kCosine) {
    fraction = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  }
  return schedule.peak * (schedule.min_ratio + (1.0 - schedule.min_ratio) * fraction);
}

}  // namespace predgen::train
