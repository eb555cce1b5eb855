#include "hear/sound_start.h"

#include <gtest/gtest.h>

#include <cmath>

namespace predgen {
namespace {

constexpr Seconds kBlock{0.02};

/// How far off it is at most, of hours of sound whose clock is too slow by `drift`; every tenth
/// block comes in time, the others are late.
double worst_error(double drift, double hours) {
  SoundStart start;
  double worst = 0;
  const auto count = static_cast<int64_t>(hours * 3600 / kBlock.count());
  for (int64_t i = 1; i <= count; ++i) {
    const Seconds length = static_cast<double>(i) * kBlock;
    const Seconds spoken = length * (1 + drift);
    const Seconds late = i % 10 == 0 ? Seconds(0) : Seconds(0.05);
    start.note(length, Seconds(1000) + spoken + late);
    if (i < 10) continue;
    const Seconds place = *start.get() + length;  // by the clock
    worst = std::max(worst, std::abs((place - Seconds(1000) - spoken).count()));
  }
  return worst;
}

TEST(SoundStart, IsNotCarriedAwayByAMicrophonesClock) {
  EXPECT_FALSE(SoundStart().get().has_value());
  EXPECT_LT(worst_error(0, 1), 1e-6);
  EXPECT_LT(worst_error(5e-5, 3), 0.007) << "180 ms an hour without a window";
  EXPECT_LT(worst_error(-5e-5, 3), 0.007);
}

}  // namespace
}  // namespace predgen
