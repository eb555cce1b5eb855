#include <gmock/gmock.h>

#include "evaluate/page/dot_rows.h"
#include "evaluate/page/label_places.h"
#include "evaluate/page/line_plot.h"
#include "evaluate/page/stacked_rows.h"
#include "evaluate/page/text_difference.h"
#include "evaluate/page/turn_timeline.h"

namespace predgen {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TextDifference, MarksWordsThatTheReferenceLacks) {
  EXPECT_EQ(mark_difference("a b c", "a b c"), "a b c");
  EXPECT_EQ(mark_difference("a b c d", "a x c y d"), "a<mark> x</mark> c<mark> y</mark> d");
  EXPECT_EQ(mark_difference("", "new <b>"), "<mark>new &lt;b&gt;</mark>");
  EXPECT_EQ(mark_difference("gone", ""), "");
  EXPECT_EQ(mark_difference("a b", "b"), "<mark>b</mark>");  // a first word has no space before it
  std::string one, other;
  for (int i = 0; i < 5000; ++i) {
    one += " x" + std::to_string(i);
    other += " y" + std::to_string(i);
  }
  EXPECT_EQ(mark_difference("a" + one + " z", "a" + other + " z"), "a<mark>" + other + "</mark> z");
}

TEST(TurnTimeline, CommonStartsAreWholeCharacters) {
  EXPECT_EQ(common_start("abc", "abd"), 2u);
  EXPECT_EQ(common_start("abc", "abc"), 3u);
  EXPECT_EQ(common_start("", "a"), 0u);
  EXPECT_EQ(common_start("aä", "aö"), 1u);  // both begin with the same byte
  EXPECT_EQ(common_start("aä", "aä!"), 3u);
}

TEST(RunView, ShowsThePapersMethodsBeforeOthers) {
  Json run{{"methods", Json::object()}, {"model", "models/tiny/"}};
  for (const char* method : {"prefill", "top3", "best", "baseline", "greedy"}) {
    run["methods"][method] = Json::object();
  }
  const Json report = Json::object();
  const RunView view(report, run);
  EXPECT_EQ(view.shown(3), (std::vector<std::string>{"top3", "baseline", "greedy"}));
  EXPECT_EQ(view.shown().size(), 5u);
  EXPECT_EQ(view.model(), "models/tiny/");
  EXPECT_EQ(view.colour("baseline"), "base");
  EXPECT_EQ(view.colour("best"), "s2");
}

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

}  // namespace
}  // namespace predgen
