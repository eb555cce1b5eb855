#include <gmock/gmock.h>

#include "evaluate/page/run_view.h"
#include "evaluate/page/text_difference.h"

namespace predgen::evaluate {
namespace {

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

}  // namespace
}  // namespace predgen::evaluate
