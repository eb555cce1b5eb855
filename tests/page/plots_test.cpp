#include <gmock/gmock.h>

#include "page/dot_rows.h"
#include "page/label_places.h"
#include "page/line_plot.h"
#include "page/stacked_rows.h"

namespace predgen {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DotRows, PlacesDotsOnTheirAxis) {
  const DotRows chart{.rows = {{.label = "a", .value = 1, .text = "1"},
                               {.label = "b", .value = 2, .low = 1, .high = 2, .text = "2"}},
                      .axis = "times"};
  const std::string svg = draw_dot_rows(chart, 600, "label");
  const auto x_of = [&](const std::string& title) {
    const size_t at = svg.rfind("cx='", svg.find("<title>" + title));
    return std::stod(svg.substr(at + 4));
  };
  // From zero: twice as far from the axis, but for the room on the right.
  const double left = std::stod(svg.substr(svg.find("<path class='grid' d='M") + 23));
  EXPECT_NEAR((x_of("b: 2") - left) / (x_of("a: 1") - left), 2, 0.01);
  EXPECT_THAT(svg, HasSubstr(">times</text>"));
}

TEST(StackedRows, PartsAreAsWideAsTheirValues) {
  const StackedRows chart{.parts = {{"s0 fill", "one"}, {"s1 fill", "other"}},
                          .rows = {{"a", {10, 30}, "40"}, {"b", {-3, 20}, "20"}},
                          .axis = "tokens"};
  const std::string svg = draw_stacked_rows(chart, 600, "label");
  const auto width_of = [&](const std::string& title) {
    const size_t at = svg.rfind("width='", svg.find("<title>" + title));
    return std::stod(svg.substr(at + 7)) + 1;  // the hair between parts
  };
  EXPECT_NEAR(width_of("a: 30 other") / width_of("a: 10 one"), 3, 0.02);
  EXPECT_NEAR(width_of("b: 20 other") / width_of("a: 10 one"), 2, 0.02);
  EXPECT_THAT(svg, Not(HasSubstr("b: -3")));
}

TEST(LabelPlaces, LabelsDoNotCoverEachOther) {
  SvgCanvas canvas(200);
  LabelPlaces places(0, 0, 200, 100);
  places.keep_free(60, 50, 5);
  places.draw(canvas, 60, 50, "first");
  places.draw(canvas, 60, 50, "second");
  places.draw(canvas, 60, 50, "much too long for any of the places in this picture");
  const std::string svg = canvas.finish(100, "");
  EXPECT_THAT(svg, HasSubstr("x='69.0' y='54.0' text-anchor='start' class='dark halo'>first"));
  EXPECT_THAT(svg, HasSubstr("x='51.0' y='54.0' text-anchor='end' class='dark halo'>second"));
  EXPECT_THAT(svg, Not(HasSubstr("much")));
}

TEST(LinePlot, MoreIsFurtherUp) {
  const LinePlot plot{
      .x_axis = "x",
      .y_axis = "y",
      .lines = {{.points = {{.x = 0, .y = 1, .title = "low"}, {.x = 1, .y = 3, .title = "high"}},
                 .name = "line"}}};
  const std::string svg = draw_line_plot(plot, 600, "label");
  const auto y_of = [&](const std::string& title) {
    const size_t at = svg.rfind("cy='", svg.find("<title>" + title));
    return std::stod(svg.substr(at + 4));
  };
  EXPECT_GT(y_of("low"), y_of("high"));
  EXPECT_THAT(svg, HasSubstr(">line</text>"));
}

TEST(LinePlot, WideRangesAreLogarithmic) {
  const auto draw = [](double highest) {
    return draw_line_plot(
        {.lines = {{.points = {{.x = 1, .y = 0.5}, {.x = 2, .y = highest}}}}, .may_be_log = true},
        600, "norm");
  };
  EXPECT_THAT(draw(400.0), HasSubstr(">100</text>"));
  EXPECT_THAT(draw(400.0), HasSubstr(">0.1</text>"));
  EXPECT_THAT(draw(4.0), Not(HasSubstr(">0.1</text>")));
}

TEST(LinePlot, ABandGoesFromTheLowestToTheHighestAndMarksAreAtTheBottom) {
  const std::string svg =
      draw_line_plot({.lines = {{.has_dots = false,
                                 .has_band = true,
                                 .points = {{.x = 0, .y = 2, .low = 1, .high = 4},
                                            {.x = 10, .y = 2, .low = 1, .high = 4}}}},
                      .x_end = 10,
                      .marks = {{.x = 5, .classes = "outlier", .title = "skipped"}}},
                     600, "loss");
  // Up at the highest, back at the lowest, by 1/4.24 of the height of 210.
  EXPECT_THAT(svg, HasSubstr("s0 band' d='M46.0 35.9L590.0 35.9L590.0 184.5L46.0 184.5Z'"));
  EXPECT_THAT(svg, Not(HasSubstr("circle")));
  EXPECT_THAT(svg, Not(HasSubstr("whisker")));
  EXPECT_THAT(svg, HasSubstr("outlier fill' d='M318.0 226.0l-4.5 8h9z'><title>skipped</title>"));
}

}  // namespace
}  // namespace predgen
