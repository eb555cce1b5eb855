#include "cli/bench_conditions.h"

#include <gtest/gtest.h>

namespace predgen::cli {
namespace {

constexpr const char* kStat =
    "cpu  1111 0 0 0 0 0 0 0 0 0\n"
    "cpu0 1 2 3 1000 2000 4 5 6 70 80\n"
    "cpu1 10 20 30 1000 2000 40 50 60 700 800\n"
    "cpu10 5000 0 0 0 0 0 0 0 0 0\n"
    "intr 12 34\n";

TEST(OtherWork, CountsWorkAndStolenTimeOfTheProcessorsAskedFor) {
  EXPECT_EQ(busy_ticks(kStat, {0}), 21);
  EXPECT_EQ(busy_ticks(kStat, {0, 1}), 231);
  EXPECT_EQ(busy_ticks(kStat, {10}), 5000);
  EXPECT_EQ(busy_ticks(kStat, {2}), 0);
  EXPECT_EQ(busy_ticks("", {0}), 0);
}

}  // namespace
}  // namespace predgen::cli
