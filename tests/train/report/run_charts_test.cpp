#include "train/report/run_charts.h"

#include <gmock/gmock.h>

#include <limits>

namespace predgen::train {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(RunCharts, ThinningKeepsMeansAndExtremes) {
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
  // Few values stay what they are.
  const ThinLine few = thin({{3, 3, 900}, {1.0, 2.0, 4.0}}, 1000, 100);
  EXPECT_EQ(few.means, (std::vector<double>{1.0, 2.0, 4.0}));
}

TEST(RunCharts, DrawsLinesMarksAndValues) {
  RunHistory history;
  history.last_step = 100;
  history.scalars = {{"train/<b>", {{0, 100}, {1.0, 3.0}}}, {"train/none", {}}};
  history.skipped = {{50, true}, {75, false}};
  const std::string figures = run_charts(history);
  EXPECT_THAT(figures, HasSubstr("Loss, nats per token"));
  EXPECT_THAT(figures, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(figures, Not(HasSubstr("<b>")));    // neither in the legend nor in the script
  EXPECT_THAT(figures, Not(HasSubstr("none<")));  // a line without values has no legend
  EXPECT_THAT(figures, HasSubstr("step 50 skipped: outlier"));
  EXPECT_THAT(figures, HasSubstr("step 75 skipped: gradient not finite"));
  EXPECT_THAT(figures, HasSubstr("[[0.0,1.0],[100.0,3.0]]"));
  // From the left to the right edge of the plot, as the script has them.
  EXPECT_THAT(figures, HasSubstr("\"left\":46.0,\"right\":630.0"));
  EXPECT_THAT(figures, ContainsRegex("s0 line' d='M46.0 [0-9.]+L630.0 "));
  EXPECT_THAT(figures, Not(HasSubstr("Learning rate"))) << "a chart without a value";
}

}  // namespace
}  // namespace predgen::train
