#include "train/optim/lr_schedule.h"

#include <gtest/gtest.h>

namespace predgen::train {
namespace {

double rate(ScheduleKind kind, int64_t step, double min_ratio = 0.0) {
  return learning_rate({kind, 1.0, min_ratio, /*warmup_steps=*/3, /*total_steps=*/11}, step);
}

TEST(LrSchedule, WarmsUpToThePeak) {
  for (const ScheduleKind kind :
       {ScheduleKind::kConstant, ScheduleKind::kLinear, ScheduleKind::kCosine}) {
    EXPECT_DOUBLE_EQ(rate(kind, 1), 0.25);
    EXPECT_DOUBLE_EQ(rate(kind, 2), 0.50);
    EXPECT_DOUBLE_EQ(rate(kind, 3), 0.75);
    EXPECT_DOUBLE_EQ(rate(kind, 4), 1.00);
  }
}

TEST(LrSchedule, FallsByItsKind) {
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::kConstant, 11), 1.0);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::kLinear, 8), 0.5);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::kLinear, 11), 0.125);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 8), 0.5, 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 6), 0.8535533905932737, 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 12, 0.1), 0.1, 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 8, 0.1), 0.55, 1e-12);
}

TEST(LrSchedule, HasNoWarmupByDefault) {
  EXPECT_DOUBLE_EQ(learning_rate({ScheduleKind::kCosine, 0.3, 0.0, 0, 1}, 1), 0.3);
}

}  // namespace
}  // namespace predgen::train
