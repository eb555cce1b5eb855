#include "evaluate/method_table.h"

#include <gmock/gmock.h>

namespace predgen::evaluate {
namespace {

using testing::HasSubstr;
using testing::Not;

Json method(double passes, double ready, const Json& saving = nullptr) {
  return {{"n", 16},
          {"saving", saving},
          {"nfe_paper", passes},
          {"wait_from_last_word", 0.5},
          {"ready_before_end", ready},
          {"first_sentence_kept", nullptr},
          {"spec_tokens_drafted", 12.25},
          {"spec_tokens_wasted", 3.0},
          {"joules", nullptr}};
}

Json grouped_report() {
  const Json saving{{"ratio", 4}, {"low", 3.5}, {"high", 4.5}, {"n", 16}};
  Json added{{"group", "word_added"}, {"n", 16}};
  added["methods"]["baseline"] = method(20, 0);
  added["methods"]["greedy"] = method(5, 0.25, saving);
  Json shortest{{"group", "1-5"}, {"n", 1}};
  shortest["methods"]["a<b"] = method(1, 1);
  Json run{{"model", "m"}, {"cost", {{"name", "given"}, {"basis", "b"}}}};
  run["groups"]["last_change"].push_back(added);
  run["groups"]["source"] = Json::array();
  run["groups"]["length"].push_back(shortest);
  return {{"runs", Json::array({run})}};
}

TEST(GroupTables, AreForWhoHasNeverSeenThem) {
  const std::string text = groups_text(grouped_report(), "last_change");
  EXPECT_THAT(text, HasSubstr("word_added: 16 turns (one more word at the end)"));
  EXPECT_THAT(text, HasSubstr("method      NFE         x fewer  wait s  ready %  drafted  wasted"));
  EXPECT_THAT(text, HasSubstr("greedy     5.00  4.00 3.50-4.50   0.500       25     12.2     3.0"));
  EXPECT_THAT(text, HasSubstr("ready %: turns whose first sentence was there before"));
  for (const char* empty : {"joules", "kept %"}) EXPECT_THAT(text, Not(HasSubstr(empty)));
}

TEST(GroupTables, SayWhatASetLacks) {
  EXPECT_THAT(groups_text(grouped_report(), "source"), HasSubstr("key \"source\" of its rows"));
  EXPECT_THAT(groups_text(grouped_report(), "length"), HasSubstr("1-5: 1 turn\n"));
  Json older = grouped_report();
  older["runs"][0].erase("groups");
  EXPECT_THAT(groups_text(older, "length"), HasSubstr("Nothing to show"));
}

TEST(GroupTables, StandOnThePage) {
  const Json report = grouped_report(), table = group_table(report["runs"][0], "last_change");
  EXPECT_EQ(table["missing"], "");
  EXPECT_EQ(table["columns"][1]["title"], "x fewer");
  EXPECT_EQ(table["groups"][0]["title"], "word_added: 16 turns (one more word at the end)");
  EXPECT_EQ(table["groups"][0]["rows"][1],
            Json::array({"greedy", "5.00", "4.00 3.50-4.50", "0.500", "25", "12.2", "3.0"}));
  EXPECT_THAT(group_table(report["runs"][0], "source")["missing"].get<std::string>(),
              HasSubstr("key \"source\""));
}

}  // namespace
}  // namespace predgen::evaluate
