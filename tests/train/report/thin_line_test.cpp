#include "train/report/thin_line.h"

#include <gtest/gtest.h>

#include <limits>

namespace predgen::train {
namespace {

TEST(ThinLine, KeepsMeansAndExtremes) {
  Series series;
  for (int64_t step = 1; step <= 1000; ++step) {
    series.steps.push_back(step);
    series.values.push_back(step == 500 ? 9.0 : step % 2 == 0 ? 1.0 : 3.0);
  }
  series.values[7] = std::numeric_limits<double>::quiet_NaN();
  const ThinLine line = thin(series, 1000, 100);
  ASSERT_EQ(line.steps.size(), 100u);
  double highest = 0.0, sum = 0.0;
  for (size_t i = 0; i < line.steps.size(); ++i) {
    EXPECT_EQ(line.lowest[i], 1.0);
    highest = std::max(highest, line.highest[i]);
    sum += line.means[i];
    if (i > 0) {
      EXPECT_GT(line.steps[i], line.steps[i - 1]);
    }
  }
  EXPECT_EQ(highest, 9.0);
  EXPECT_NEAR(sum / 100, 2.0, 0.05);
}

TEST(ThinLine, FewValuesStayWhatTheyAre) {
  const ThinLine few = thin({{3, 3, 900}, {1.0, 2.0, 4.0}}, 1000, 100);
  EXPECT_EQ(few.means, (std::vector<double>{1.0, 2.0, 4.0}));
}

}  // namespace
}  // namespace predgen::train
