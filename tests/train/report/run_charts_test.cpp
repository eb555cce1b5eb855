#include "train/report/chart_svg.h"

#include <gmock/gmock.h>

#include <limits>

namespace predgen::train {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ChartSvg, ThinningKeepsMeansAndExtremes) {
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

TEST(ChartSvg, DrawsLinesMarksAndValues) {
  Chart chart{.title = "Loss & more",
              .lines = {{"ar <b>", {{0, 100}, {1.0, 3.0}}}, {"none", {}}},
              .from_zero = true,
              .skipped = {{50, true}, {75, false}}};
  const std::string figure = chart_figure(chart, 100);
  EXPECT_THAT(figure, HasSubstr("Loss &amp; more"));
  EXPECT_THAT(figure, HasSubstr("ar &lt;b&gt;"));
  EXPECT_THAT(figure, Not(HasSubstr("<b>")));    // neither in the legend nor in the script
  EXPECT_THAT(figure, Not(HasSubstr("none<")));  // a line without values has no legend
  EXPECT_THAT(figure, HasSubstr("step 50 skipped: outlier"));
  EXPECT_THAT(figure, HasSubstr("step 75 skipped: gradient not finite"));
  EXPECT_THAT(figure, HasSubstr("[[0.0,1.0],[100.0,3.0]]"));
  // From the left to the right edge of the plot; a higher value is further up.
  EXPECT_THAT(figure, HasSubstr("d='M50.0 147.3L626.0 17.8'"));
  EXPECT_EQ(chart_figure({.title = "Empty", .lines = {{"x", {}}}}, 100), "");
}

TEST(ChartSvg, WideRangesAreLogarithmic) {
  const auto figure = [](double highest) {
    return chart_figure(
        {.title = "norm", .lines = {{"n", {{1, 2}, {0.5, highest}}}}, .may_be_log = true}, 2);
  };
  EXPECT_THAT(figure(400.0), HasSubstr(">100</text>"));
  EXPECT_THAT(figure(400.0), HasSubstr(">0.1</text>"));
  EXPECT_THAT(figure(4.0), Not(HasSubstr(">0.1</text>")));
}

}  // namespace
}  // namespace predgen::train
