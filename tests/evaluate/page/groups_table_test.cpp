#include "evaluate/page/groups_table.h"

#include <gmock/gmock.h>

#include "tests/evaluate/page/planted_report.h"

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
  Json report = planted_report();
  const Json saving{{"ratio", 4}, {"low", 3.5}, {"high", 4.5}, {"n", 16}};
  Json added{{"group", "word_added"}, {"n", 16}};
  added["methods"]["baseline"] = method(20, 0);
  added["methods"]["greedy"] = method(5, 0.25, saving);
  Json shortest{{"group", "1-5"}, {"n", 1}};
  shortest["methods"]["a<b"] = method(1, 1);
  Json& groups = report["runs"][0]["groups"];
  groups["last_change"].push_back(added);
  groups["source"] = Json::array();
  groups["length"].push_back(shortest);
  return report;
}

TEST(GroupsTable, IsForWhoHasNeverSeenIt) {
  const std::string text = groups_text(grouped_report(), "last_change");
  EXPECT_THAT(text, HasSubstr("word_added: 16 turns (one more word at the end)"));
  EXPECT_THAT(text, HasSubstr("method      NFE         x fewer  wait s  ready %  drafted  wasted"));
  EXPECT_THAT(text, HasSubstr("greedy     5.00  4.00 3.50-4.50   0.500       25     12.2     3.0"));
  EXPECT_THAT(text, HasSubstr("ready %: turns whose first sentence was there before"));
  for (const char* empty : {"joules", "kept %"}) EXPECT_THAT(text, Not(HasSubstr(empty)));
}

TEST(GroupsTable, SaysWhatASetLacks) {
  EXPECT_THAT(groups_text(grouped_report(), "source"), HasSubstr("key \"source\" of its rows"));
  EXPECT_THAT(groups_text(grouped_report(), "length"), HasSubstr("1-5: 1 turn\n"));
  EXPECT_THAT(groups_text(planted_report(), "length"), HasSubstr("Nothing to show"));
}

TEST(GroupsTable, StandsOnThePage) {
  const Json report = grouped_report(), older = planted_report();
  const std::string page = groups_tables(RunView(report, report["runs"][0]));
  EXPECT_THAT(page, HasSubstr("<h2 id=pays>Where it pays</h2>"));
  EXPECT_THAT(page, HasSubstr("word_added: 16 turns (one more word at the end)"));
  EXPECT_THAT(page, HasSubstr("<tr><th scope=row>greedy<td>5.00<td>4.00 3.50-4.50"));
  EXPECT_THAT(page, HasSubstr("a&lt;b"));
  EXPECT_THAT(page, HasSubstr("key &quot;source&quot; of its rows"));
  EXPECT_THAT(groups_tables(RunView(older, older["runs"][0])), HasSubstr("written without"));
}

}  // namespace
}  // namespace predgen::evaluate
