#include "train/checkpoint_store.h"

#include <gtest/gtest.h>

#include <limits>

namespace predgen::train {
namespace {

TEST(GradientNorms, TheMedianIsOfTheLastSteps) {
  GradientNorms norms;
  for (size_t i = 0; i + 1 < GradientNorms::kFewest; ++i) norms.add(3.0);
  EXPECT_FALSE(norms.median().has_value());
  norms.add(3.0);
  EXPECT_EQ(norms.median(), 3.0);
  for (size_t i = 0; i < GradientNorms::kMost; ++i) norms.add(static_cast<double>(i));
  EXPECT_EQ(norms.values().size(), GradientNorms::kMost);
  EXPECT_EQ(norms.values().front(), 0.0);  // the threes are gone
  EXPECT_EQ(norms.median(), 63.5);
}

TEST(GradientNorms, AnOutlierIsFarAboveTheMedian) {
  GradientNorms norms;
  EXPECT_FALSE(norms.is_outlier(1e9, 2.0));  // what is usual is not known yet
  for (size_t i = 0; i < GradientNorms::kFewest; ++i) norms.add(i % 2 == 0 ? 1.0 : 3.0);
  EXPECT_FALSE(norms.is_outlier(8.0, 4.0));
  EXPECT_TRUE(norms.is_outlier(8.1, 4.0));
  EXPECT_TRUE(norms.is_outlier(std::numeric_limits<double>::infinity(), 4.0));
  EXPECT_FALSE(norms.is_outlier(1e9, 0.0));
  norms.add(1e12);  // a single step does not change what is usual
  EXPECT_TRUE(norms.is_outlier(50.0, 10.0));
}

TEST(GradientNorms, GoesOnFromItsValues) {
  std::vector<double> many(GradientNorms::kMost + 5, 1.0);
  many.back() = 7.0;
  const GradientNorms norms(many);
  EXPECT_EQ(norms.values().size(), GradientNorms::kMost);
  EXPECT_EQ(norms.values().back(), 7.0);
  EXPECT_EQ(GradientNorms(norms.values()).values(), norms.values());
}

}  // namespace
}  // namespace predgen::train
