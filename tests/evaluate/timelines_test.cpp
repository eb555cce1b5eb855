#include <gtest/gtest.h>

#include <map>
#include <set>

#include "evaluate/turn_rows.h"

namespace predgen::evaluate {
namespace {

Json make_row(int64_t turn, const char* method, double ttfs, bool traced) {
  Json row{{"turn", turn}, {"id", "t"}, {"method", method}, {"ttfs", ttfs}};
  if (traced) row["trace"] = Json::array({Json::array({ttfs, "done", method})});
  return row;
}

TEST(Timelines, AreThoseOfATypicalTheBestAndTheWorstTurn) {
  Json rows = Json::array();
  const double savings[] = {0.3, 0.1, 0.5, 0.2, 0.4, 9};
  for (int64_t turn = 0; turn < 6; ++turn) {
    rows.push_back(make_row(turn, "baseline", 10, turn < 5));
    rows.push_back(make_row(turn, "prefill", 10, turn < 5));
    rows.push_back(make_row(turn, "greedy", 10 - savings[turn], turn < 5));
  }
  const Json taken = take_timelines(rows, {"baseline", "prefill", "greedy"});
  std::map<std::string, std::set<int64_t>> turns;
  for (const Json& one : taken) {
    turns[one["why"]].insert(one["turn"].get<int64_t>());
    EXPECT_EQ(one["against"], "greedy");
    EXPECT_EQ(one["events"][0][2], one["method"]);
  }
  using Turns = std::map<std::string, std::set<int64_t>>;
  EXPECT_EQ(turns, (Turns{{"typical", {0}}, {"best", {2}}, {"worst", {1}}}));
  EXPECT_EQ(taken.size(), 9u);
  for (const Json& row : rows) EXPECT_FALSE(row.contains("trace"));
}

TEST(Timelines, OneTurnOrNone) {
  Json one = Json::array({make_row(3, "greedy", 1, true)});
  EXPECT_EQ(take_timelines(one, {"greedy"}).at(0)["why"], "typical");
  Json none = Json::array({make_row(3, "greedy", 1, false)});
  EXPECT_TRUE(take_timelines(none, {"greedy"}).empty());
}

}  // namespace
}  // namespace predgen::evaluate
