#include "evaluate/figure_values.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

TEST(DescribeSet, ThePapersSetsHaveItsNames) {
  EXPECT_EQ(describe_set("turns: {kind: gsm8k, file: a/b.jsonl}"),
            Json::parse(R"({"kind":"gsm8k","file":"a/b.jsonl","paper":"gsm8k","name":"GSM8K"})"));
  EXPECT_EQ(describe_set("turns: {kind: prompts, file: x/lmsys.parquet}")["name"], "Lmsys");
}

TEST(DescribeSet, OthersAreCalledByTheirFile) {
  const Json set = describe_set("turns: {kind: conversations, file: data/sgd/talk.jsonl}\nx: 1");
  EXPECT_EQ(set["paper"], "");
  EXPECT_EQ(set["name"], "sgd/talk.jsonl");
  EXPECT_EQ(describe_set("turns: {file: talk.jsonl}")["name"], "talk.jsonl");
}

TEST(DescribeSet, WhatCannotBeReadIsAnEvaluation) {
  for (const char* config : {"", "</pre>: [", "turns: 3"}) {
    EXPECT_EQ(describe_set(config)["name"], "An evaluation") << config;
  }
}

/// Sixteen turns of 1 to 16 words in two rounds: greedy takes half of the baseline's time, and one
/// pass on every fourth turn.
Json planted_results() {
  Json results{{"config", "turns: {kind: gsm8k}"}, {"turns", Json::array()}};
  Json run{{"model", "m"}, {"cost", {{"name", "given"}}}};
  std::string prompt;
  for (int turn = 0; turn < 16; ++turn) {
    prompt += " word";
    for (const std::string method : {"baseline", "greedy"}) {
      const double share = method == "greedy" ? 0.5 : 1;
      run["methods"][method] = Json::object();
      results["turns"].push_back({{"turn", turn},
                                  {"method", method},
                                  {"model", "m"},
                                  {"cost", "given"},
                                  {"prompt", prompt},
                                  {"ttfs", 0.8 * share},
                                  {"ttfs_paper", 0.7 * share},
                                  {"ttft", 0.3 * share},
                                  {"audio_latency", 1.0 * share},
                                  {"nfe_paper", turn % 4 == 0 && share < 1 ? 1 : 20 * share},
                                  {"round", 1 + turn % 2},
                                  {"revised_share", nullptr}});
    }
  }
  results["runs"].push_back(run);
  return results;
}

Json completed(Json results) {
  complete_report(results);
  return results["runs"][0];
}

TEST(FigureValues, PartsOfTheLatencyAddUp) {
  const Json parts = completed(planted_results())["methods"]["baseline"]["latency_parts"];
  EXPECT_NEAR(parts["pass_under_way"].get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(parts["first_pass"].get<double>(), 0.2, 1e-9);
  EXPECT_NEAR(parts["rest_of_sentence"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(parts["speech"].get<double>(), 0.2, 1e-9);
  EXPECT_EQ(parts["n"], 16);
}

TEST(FigureValues, MeansHaveIntervals) {
  Json results = planted_results();
  for (Json& row : results["turns"]) {
    if (row["method"] != "greedy") continue;
    row["judge_grade"] = row["turn"] == 0 ? Json() : Json(row["turn"].get<int>() % 2 == 0 ? 6 : 8);
    row["values_repeated"] = 1;
    row["values_to_repeat"] = 2;
  }
  const Json run = completed(results);
  const Json& greedy = run["methods"]["greedy"]["intervals"];
  EXPECT_NEAR(greedy["audio_latency"]["value"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(greedy["judge_grade"]["n"], 15);
  EXPECT_LT(greedy["judge_grade"]["low"], greedy["judge_grade"]["value"]);
  EXPECT_LT(greedy["judge_grade"]["value"], greedy["judge_grade"]["high"]);
  EXPECT_NEAR(greedy["share_of_values_repeated"]["value"].get<double>(), 0.5, 1e-9);
  const Json& baseline = run["methods"]["baseline"]["intervals"];
  EXPECT_TRUE(baseline["judge_grade"].is_null());
  EXPECT_TRUE(baseline["share_of_values_repeated"].is_null());
}

TEST(FigureValues, TurnsOfAConversationAreToldApart) {
  Json results = planted_results();
  Json rounds = completed(results)["rounds"];
  ASSERT_EQ(rounds.size(), 2u);
  // Of the eight first turns of conversations four took one pass: turns 0, 4, 8 and 12.
  const Json& greedy = rounds[0]["methods"]["greedy"];
  EXPECT_EQ(greedy["passes"], Json::parse(R"({"1 pass":0.5,"2–4":0.0,"5–16":0.5,"over 16":0.0})"));
  EXPECT_EQ(greedy["mean"], 5.5);
  EXPECT_EQ(greedy["n"], 8);
  for (Json& row : results["turns"]) row["round"] = row["round"].get<int>() + 3;
  rounds = completed(results)["rounds"];
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0]["round"], "4 and later");
}

TEST(FigureValues, PromptsAreGroupedByTheirLength) {
  Json results = planted_results();
  const Json groups = completed(results)["ttfs_by"]["words"];
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[3]["group"], "13–16");
  EXPECT_EQ(groups[3]["n"], 4);
  EXPECT_NEAR(groups[3]["methods"]["greedy"]["value"].get<double>(), 0.4, 1e-9);
  for (Json& row : results["turns"]) row["prompt"] = "one length";
  EXPECT_TRUE(completed(results)["ttfs_by"]["words"].empty());
}

TEST(FigureValues, RevisionsCountWhereTheyAreRecorded) {
  Json results = planted_results();
  EXPECT_TRUE(completed(results)["ttfs_by"]["revised_share"].is_null());
  for (Json& row : results["turns"]) row["revised_share"] = row["turn"] == 0 ? 0.15 : 0.0;
  const Json groups = completed(results)["ttfs_by"]["revised_share"];
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0]["group"], "none");
  EXPECT_EQ(groups[0]["n"], 15);
  EXPECT_EQ(groups[1]["group"], "10–20 %");
}

TEST(FigureValues, CompletingTwiceChangesNothingButWhatWasGradedSince) {
  Json results = planted_results();
  complete_report(results);
  EXPECT_EQ(results["set"]["name"], "GSM8K");
  Json again = results;
  complete_report(again);
  EXPECT_EQ(again, results);
  for (Json& row : again["turns"]) row["judge_grade"] = 7;
  EXPECT_EQ(completed(again)["methods"]["greedy"]["intervals"]["judge_grade"]["value"], 7.0);
}

TEST(FigureValues, NoTurnsMakeNoValues) {
  Json results = planted_results();
  results["turns"] = Json::array();
  const Json run = completed(results);
  EXPECT_TRUE(run["methods"]["greedy"]["latency_parts"].is_null());
  EXPECT_TRUE(run["methods"]["greedy"]["intervals"]["audio_latency"].is_null());
  EXPECT_TRUE(run["rounds"].empty());
}

TEST(FigureValues, OldNamesAreRead) {
  Json report = Json::parse(
      R"({"runs": [{"price": {"name": "h100"}}], "turns": [{"draft_price": 2, "text": "price"}]})");
  accept_old_names(report);
  EXPECT_EQ(report, Json::parse(R"({"runs": [{"cost": {"name": "h100"}}],
                                    "turns": [{"text": "price", "draft_cost": 2}]})"));
}

}  // namespace
}  // namespace predgen::evaluate
