#include "evaluate/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace predgen::evaluate {
namespace {

using Values = std::vector<std::optional<double>>;

TEST(Quantile, InterpolatesLikeNumpy) {
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 40}, 0.99), 39.6);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 1), 2);
  EXPECT_TRUE(std::isinf(quantile({1, INFINITY, INFINITY}, 0.75)));
}

TEST(Summarize, LeavesNullsOutAndCountsThem) {
  const Summary summary = summarize({4.0, std::nullopt, 1.0, 3.0, 2.0});
  EXPECT_DOUBLE_EQ(*summary.mean, 2.5);
  EXPECT_DOUBLE_EQ(*summary.p50, 2.5);
  EXPECT_DOUBLE_EQ(*summary.p90, 3.7);
  EXPECT_DOUBLE_EQ(*summary.p99, 3.97);
  EXPECT_EQ(summary.n, 4);
  EXPECT_EQ(summary.num_null, 1);
  const Summary none = summarize({std::nullopt});
  EXPECT_FALSE(none.mean || none.p99);
  EXPECT_EQ(none.n, 0);
}

TEST(RatioOfMeans, IsNotTheMeanOfRatios) {
  const auto ratio = ratio_of_means({1.0, 9.0}, {1.0, 1.0}, 0);
  EXPECT_DOUBLE_EQ(ratio->value, 5);  // sums 10 and 2
  EXPECT_DOUBLE_EQ(ratio_of_means({10.0, 2.0}, {1.0, 2.0}, 0)->value, 4);
}

TEST(RatioOfMeans, PairsByTurn) {
  // A constant factor by turn: paired resamples have no spread, unpaired ones would.
  Values above, below;
  for (int i = 1; i <= 30; ++i) {
    above.push_back(3.0 * i);
    below.push_back(1.0 * i);
  }
  const auto ratio = ratio_of_means(above, below, 0);
  EXPECT_NEAR(ratio->low, 3, 1e-12);
  EXPECT_NEAR(ratio->high, 3, 1e-12);
  above[4] = std::nullopt;
  below[7] = std::nullopt;
  EXPECT_EQ(ratio_of_means(above, below, 0)->n, 28);
}

TEST(RatioOfMeans, IntervalHoldsTheValueAndFollowsTheSeed) {
  Values above, below;
  for (int i = 0; i < 200; ++i) {
    above.push_back(5.0 + i % 7);
    below.push_back(2.0 + i % 3);
  }
  const auto a = ratio_of_means(above, below, 1), b = ratio_of_means(above, below, 1),
             c = ratio_of_means(above, below, 2);
  EXPECT_EQ(a->low, b->low);
  EXPECT_EQ(a->high, b->high);
  EXPECT_NE(a->low, c->low);
  EXPECT_LT(a->low, a->value);
  EXPECT_GT(a->high, a->value);
  // Delta method: sd of the ratio is about 0.06 here, so the interval is about 0.24 wide.
  EXPECT_NEAR(a->high - a->low, 0.24, 0.06);
}

TEST(RatioOfMeans, ZeroDenominator) {
  EXPECT_TRUE(std::isinf(ratio_of_means({2.0}, {0.0}, 0)->value));
  EXPECT_FALSE(ratio_of_means({std::nullopt}, {1.0}, 0).has_value());
}

TEST(Statistics, ASharesIntervalIsWilsons) {
  const Share share = share_of(83, 100);
  EXPECT_DOUBLE_EQ(share.value, 0.83);
  // Its ends are where the share is z standard errors away; z^2 is chi-squared's 95 % quantile.
  for (const double end : {share.low, share.high}) {
    EXPECT_NEAR((0.83 - end) * (0.83 - end), 3.841458821 * end * (1 - end) / 100, 1e-9);
  }
  EXPECT_LT(share.low, 0.83);
  EXPECT_GT(share.high, 0.83);
  EXPECT_EQ(share_of(0, 5).low, 0);
  EXPECT_NEAR(share_of(0, 5).high, 3.841458821 / (5 + 3.841458821), 1e-9);
  EXPECT_EQ(share_of(5, 5).high, 1);
}

}  // namespace
}  // namespace predgen::evaluate
