#include "evaluate/report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "evaluate/method.h"
#include "evaluate/page/report_page.h"
#include "evaluate/turn_rows.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen::evaluate {
namespace {

EvalRow make_row(size_t turn, const std::string& method, const std::string& text, int64_t nfe) {
  EvalRow row;
  row.turn_index = turn;
  row.method = method;
  row.result.text = text;
  row.result.first_sentence = text;
  row.result.first_sentence_tokens = turn == 0 ? 4 : 10;
  row.result.answer = TokenIds(12, 5);
  row.result.metrics.ttfs = 0.1 * static_cast<double>(nfe);
  row.result.metrics.audio_latency = 0.1 * static_cast<double>(nfe) + 0.1;
  row.result.metrics.nfe_to_first_sentence = nfe;
  row.result.metrics.first_sentence_kept = nfe == 0;
  row.result.metrics.total_nfe = method == "cllm_jacobi" ? 6 : 12;
  row.first_sentence_logprob =
      -static_cast<double>(row.result.first_sentence_tokens) * (method == "top3" ? 1.5 : 1.0);
  return row;
}

struct Fixture {
  std::vector<std::string> methods{"baseline", "greedy", "top3", "cllm_ar", "cllm_jacobi"};
  TurnSet turns;
  EvalRun run;

  Fixture() {
    turns.turns = {{"a", {}, "one, \"two\"", {}}, {"b", {}, "three", {}}};
    turns.skipped = {"c: nothing was heard"};
    for (const size_t turn : {0, 1}) {
      run.rows.push_back(make_row(turn, "baseline", "Yes.", turn == 0 ? 4 : 10));
      run.rows.push_back(make_row(turn, "greedy", "Yes.", turn == 0 ? 0 : 5));
      run.rows.push_back(make_row(turn, "top3", turn == 0 ? "No." : "Yes.", 0));
      run.rows.push_back(make_row(turn, "cllm_ar", "Well.", 12));
      run.rows.push_back(make_row(turn, "cllm_jacobi", "Well.", 6));
    }
  }
  Json report(const std::vector<data::PromptSet::Overlap>& overlap = {}) const {
    const Json rows = to_json(run, turns);
    const std::vector<ReportRun> runs{
        {"m", to_json(RunCost{.basis = "the configuration"}), rows["rows"], rows["failed"]}};
    return make_report({methods, turns, runs, "model: m\n", Json::object(), overlap});
  }
};

TEST(Report, KeepsTheContract) {
  const Json report = Fixture().report();
  const Json& greedy = report["methods"]["greedy"];
  EXPECT_DOUBLE_EQ(greedy["ttfs"]["mean"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(greedy["ttfs"]["p50"].get<double>(), 0.25);
  for (const char* key : {"mean", "p50", "p90", "p99", "n"})
    EXPECT_TRUE(greedy["ttfs"].contains(key));
  EXPECT_DOUBLE_EQ(report["methods"]["baseline"]["speedup"].get<double>(), 1);
  EXPECT_NEAR(greedy["speedup"].get<double>(), 0.8 / 0.35, 1e-9);
  EXPECT_NEAR(greedy["sooner"]["seconds"].get<double>(), 0.8 - 0.35, 1e-9);
  ASSERT_EQ(report["turns"].size(), 10u);
  EXPECT_EQ(report["turns"][1]["method"], "greedy");
  EXPECT_EQ(report["turns"][1]["prompt"], "one, \"two\"");
  EXPECT_EQ(report["turns"][1]["text"], "Yes.");
  for (const char* key :
       {"ttfs", "ttfs_paper", "nfe_to_first_sentence", "audio_latency", "speculative_nfe",
        "spec_tokens_drafted", "spec_tokens_accepted", "spec_tokens_wasted", "lead_time"}) {
    EXPECT_TRUE(report["turns"][1].contains(key)) << key;
    EXPECT_TRUE(greedy.contains(key)) << key;
  }
  EXPECT_TRUE(report["turns"][1]["lead_time"].is_null());
  EXPECT_EQ(report["skipped"].size(), 1u);
}

TEST(Report, ComparesWithTheBaseline) {
  const Json comparisons = Fixture().report()["comparisons"];
  const Json& greedy = comparisons["greedy"];
  EXPECT_NEAR(greedy["nfe_saving"]["ratio"].get<double>(), 14.0 / 5, 1e-9);
  EXPECT_NEAR(greedy["nfe_saving_paper"]["ratio"].get<double>(), 14.0 / 6, 1e-9);
  EXPECT_NEAR(greedy["nfe_saving_long"]["ratio"].get<double>(), 2, 1e-9);  // turn b alone
  EXPECT_EQ(greedy["nfe_saving_long"]["n"], 1);
  EXPECT_EQ(greedy["equal_text"]["count"], 2);
  EXPECT_TRUE(greedy["equal_text"]["flips"].empty());
  EXPECT_EQ(comparisons["top3"]["equal_text"]["count"], 1);
  EXPECT_EQ(comparisons["top3"]["equal_text"]["different_turns"], Json::array({0}));
  EXPECT_NEAR(comparisons["top3"]["first_sentence_logprob_per_token"]["loss"].get<double>(), 0.5,
              1e-9);
  EXPECT_TRUE(comparisons["top3"]["nfe_saving"]["ratio"].is_null());  // no pass at all
}

TEST(Report, AdapterMethodsAreHeldAgainstTheirOwnPlainDecoding) {
  const Json report = Fixture().report();
  const Json& jacobi = report["comparisons"]["cllm_jacobi"];
  EXPECT_EQ(jacobi["equal_text"]["against"], "cllm_ar");
  EXPECT_EQ(jacobi["equal_text"]["count"], 2);
  EXPECT_NEAR(jacobi["pass_saving"]["ratio"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(report["methods"]["cllm_jacobi"]["tokens_per_pass"].get<double>(), 2, 1e-9);
}

TEST(Report, ShareOfValuesThatAreRepeated) {
  Fixture fixture;
  EXPECT_TRUE(fixture.report()["methods"]["greedy"]["share_of_values_repeated"].is_null());
  for (EvalRow& row : fixture.run.rows) {
    const bool greedy = row.method == "greedy";
    row.repeated_values =
        row.turn_index == 0 ? RepeatedValues{greedy ? 1 : 0, 1} : RepeatedValues{greedy ? 2 : 0, 3};
  }
  const Json report = fixture.report();
  EXPECT_EQ(report["methods"]["greedy"]["share_of_values_repeated"], 0.75);
  EXPECT_EQ(report["methods"]["baseline"]["share_of_values_repeated"], 0.0);
  EXPECT_EQ(report["turns"][6]["values_to_repeat"], 3.0);
  EXPECT_NE(format_table(report).find("repeats %"), std::string::npos);
}

TEST(Report, AccuracyIsThatOfTurnsWithARightAnswer) {
  Fixture fixture;
  EXPECT_TRUE(fixture.report()["methods"]["greedy"]["accuracy"].is_null());
  EXPECT_EQ(format_table(fixture.report()).find("accuracy"), std::string::npos);
  for (EvalTurn& turn : fixture.turns.turns) {
    turn.right_answer = RightAnswer{AnswerKind::kLetter, "B"};
    turn.category = turn.id == "a" ? "law" : "maths";
  }
  for (EvalRow& row : fixture.run.rows) {
    const bool right = row.method != "top3" || row.turn_index == 1;
    const char* stated = row.turn_index == 1 ? "The answer is " : "Answer: ";
    row.result.text = std::string(stated) + (right ? "B" : "C");
  }
  const Json report = fixture.report();
  const Json& accuracy = report["methods"]["top3"]["accuracy"];
  EXPECT_EQ(accuracy["share"], 0.5);
  EXPECT_EQ(accuracy["count"], 1);
  EXPECT_EQ(accuracy["n"], 2);
  EXPECT_LT(accuracy["low"].get<double>(), 0.1);
  EXPECT_EQ(report["methods"]["greedy"]["accuracy"]["share"], 1.0);
  EXPECT_EQ(report["methods"]["greedy"]["accuracy"]["strict"]["share"], 0.5);
  EXPECT_EQ(accuracy["by_category"]["law"]["share"], 0.0);
  EXPECT_EQ(accuracy["by_category"]["maths"]["strict"]["share"], 1.0);
  const Json& row = report["turns"][2];
  EXPECT_EQ(row["category"], "law");
  EXPECT_EQ(row["right_answer"], "B");
  EXPECT_EQ(row["extracted"], "C");
  EXPECT_EQ(row["correct"], false);
  const std::string table = format_table(report);
  EXPECT_NE(table.find(" 50.0 9-91 "), std::string::npos) << table;
  EXPECT_NE(table.find("law                      1"), std::string::npos) << table;
  EXPECT_NE(format_csv(report).find("correct_strict"), std::string::npos);
}

TEST(Report, TaskAnswersAndChangedTexts) {
  Fixture fixture;
  EXPECT_TRUE(fixture.report()["methods"]["top3"]["task"].is_null());
  EXPECT_EQ(format_table(fixture.report()).find("same act"), std::string::npos);
  for (EvalTurn& turn : fixture.turns.turns) turn.reference = "A table at Sino for 12.";
  fixture.run.rows[2].result.text = "Is Sino in Fresno fine?";  // of top3
  fixture.run.rows[7].result.text = "Which time?";
  const Json report = fixture.report();
  EXPECT_EQ(report["methods"]["top3"]["task"]["known_values"], 0.5);
  EXPECT_EQ(report["methods"]["top3"]["task"]["same_act"]["share"], 0.5);
  EXPECT_TRUE(report["methods"]["baseline"]["task"]["known_values"].is_null());
  EXPECT_EQ(report["methods"]["baseline"]["task"]["same_act"]["share"], 0.0);
  EXPECT_EQ(report["turns"][2]["values_said"], 2);
  EXPECT_EQ(report["turns"][2]["values_known"], 1);
  EXPECT_EQ(report["turns"][7]["same_act"], false);
  EXPECT_EQ(report["comparisons"]["top3"]["changed_text"]["share"], 1.0);
  EXPECT_EQ(report["comparisons"]["greedy"]["changed_text"]["share"], 0.0);
  EXPECT_EQ(report["comparisons"]["cllm_jacobi"]["changed_text"]["share"], 1.0);
  const std::string table = format_table(report);
  for (const char* title : {"known %", "same act %", "changed %"}) {
    EXPECT_NE(table.find(title), std::string::npos) << title;
  }
}

TEST(Report, SaysWhatCameBeforeEachTurn) {
  Fixture fixture;
  fixture.turns.turns[0].history = {{"user", "hi"}, {"assistant", "yes?"}};
  fixture.turns.turns[1].continues = true;
  EXPECT_EQ(
      fixture.report()["questions"],
      Json::parse(
          R"([{"id":"a","history":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes?"}],"continues":false},)"
          R"({"id":"b","history":[],"continues":true}])"));
  fixture.turns.turns[0].right_answer = RightAnswer{AnswerKind::kLetter, "B"};
  EXPECT_TRUE(fixture.report()["questions"][0]["history"].empty());  // worked examples
}

TEST(Report, ShowsWhatAJudgeSaid) {
  Json report = Fixture().report();
  EXPECT_TRUE(report["methods"]["top3"]["judge"].is_null());
  EXPECT_EQ(format_table(report).find("judge"), std::string::npos) << "a column without a value";
  for (const auto& [name, method] : report["runs"][0]["methods"].items()) {
    method["judge"] = Json::parse(R"({"grade":{"mean":6.0,"n":2,"missing":0},"pairs":null})");
  }
  report["runs"][0]["methods"]["top3"]["judge"] =
      Json::parse(R"({"grade":{"mean":9.0,"n":1,"missing":1},)"
                  R"("pairs":{"wins":1,"ties":0,"losses":0,"missing":1}})");
  const std::string table = format_table(report);
  for (const char* part : {" 6.00 ", " 9.00 1 out ", " 1/0/0 1 out "}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << table;
  }
}

TEST(Report, TurnsOfTheTrainingDataAreShownApart) {
  Fixture fixture;
  using enum data::PromptSet::Overlap;
  const auto report = [&](const std::vector<data::PromptSet::Overlap>& overlap) {
    return fixture.report(overlap);
  };
  EXPECT_TRUE(report({})["training_overlap"].is_null());
  EXPECT_FALSE(report({})["turns"][0].contains("in_training_data"));
  const Json clean = report({kNone, kNone});
  EXPECT_EQ(clean["training_overlap"]["none"], 2);
  EXPECT_TRUE(clean["unseen"].is_null());
  const Json some = report({kNormalised, kNone});
  EXPECT_EQ(some["turns"][0]["in_training_data"], "normalised");
  EXPECT_EQ(some["turns"][9]["in_training_data"], "none");
  EXPECT_EQ(some["methods"], clean["methods"]);
  const Json& greedy = some["unseen"]["methods"]["greedy"];
  EXPECT_EQ(greedy["ttfs"]["n"], 1);
  EXPECT_DOUBLE_EQ(greedy["ttfs"]["mean"].get<double>(), 0.5);
  EXPECT_EQ(some["unseen"]["comparisons"]["top3"]["equal_text"]["n"], 1);
  EXPECT_NE(format_table(some).find("training data lacks"), std::string::npos);
  EXPECT_NE(format_table(some).find("0 of 2 turns stand in the training data word for word, 1 but"),
            std::string::npos);
  const Json all = report({kExact, kNormalised});
  EXPECT_TRUE(all["unseen"].is_null());
  EXPECT_EQ(format_table(all).find("training data lacks"), std::string::npos);
}

TEST(Report, EmptyAnswersAreNullAndCounted) {
  Fixture fixture;
  EvalRow& row = fixture.run.rows[1];
  row.result.metrics = {};
  row.first_sentence_logprob.reset();
  const Json greedy = fixture.report()["methods"]["greedy"];
  EXPECT_EQ(greedy["ttfs"]["n"], 1);
  EXPECT_EQ(greedy["ttfs"]["nulls"], 1);
  EXPECT_DOUBLE_EQ(greedy["ttfs"]["mean"].get<double>(), 0.5);
}

TEST(Report, TextFormats) {
  const Json report = Fixture().report();
  const std::string csv = format_csv(report);
  EXPECT_NE(csv.find("\"one, \"\"two\"\"\""), std::string::npos);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 11);
  const std::string table = format_table(report);
  EXPECT_NE(table.find("2/2 baseline"), std::string::npos);
  EXPECT_NE(table.find("1/2 baseline"), std::string::npos);
  Fixture evil;
  evil.turns.turns[0].prompt_text = "<i>one";
  const std::string html = format_report_page(evil.report());
  EXPECT_EQ(html.find("<i>one"), std::string::npos);
  EXPECT_NE(html.find("\\u003ci>one"), std::string::npos);
}

TEST(Method, NamesAndErrors) {
  EXPECT_EQ(parse_method("top7").verifier.top_k, 7);
  EXPECT_EQ(parse_method("top3").verifier.name, "topk");
  EXPECT_EQ(parse_method("reflection").verifier.name, "reflection");
  EXPECT_EQ(plain_method(parse_method("cllm")), "cllm_ar");
  EXPECT_EQ(plain_method(parse_method("greedy")), "baseline");
  const Method combined = parse_method("top5+jacobi+adapter+economy");
  EXPECT_EQ(combined.name, "top5+jacobi+adapter+economy");
  EXPECT_EQ(combined.verifier.top_k, 5);
  EXPECT_EQ(combined.decoder, "jacobi");
  EXPECT_TRUE(combined.adapter);
  EXPECT_EQ(combined.preset.later_round_tokens, 3);
  EXPECT_EQ(plain_method(combined), "cllm_ar");
  const Method drafting = parse_method("draft_model+economy");  // a preset takes no model away
  EXPECT_TRUE(drafting.draft_model);
  EXPECT_EQ(drafting.preset.sources, std::vector<std::string>{"ngram"});
  for (const char* bad :
       {"greedy+", "greedy+lavish", "+jacobi", "top", "top0", "top3x", "fastest", ""}) {
    EXPECT_THROW(parse_method(bad), UserError) << bad;
  }
}

TEST(Method, EveryPartOfTheRuntimeCanBeNamed) {
  const Method all = parse_method("cllm+top5+ngram+draft_model+branches+split=paper+rate=1200");
  EXPECT_EQ(all.name, "cllm+top5+ngram+draft_model+branches+split=paper+rate=1200");
  EXPECT_TRUE(all.adapter && all.draft_model);
  EXPECT_EQ(all.verifier.top_k, 5);
  EXPECT_EQ(all.preset.sources, std::vector<std::string>{"ngram"});
  EXPECT_EQ(all.preset.speculation.num_branches, 8);
  EXPECT_EQ(all.split, SplitMode::kPaper);
  EXPECT_EQ(all.characters_per_minute, 1200);
  EXPECT_EQ(baseline_method(all), "baseline+split=paper");
  EXPECT_EQ(parse_method("cllm+reflection").verifier.name, "reflection");
  EXPECT_EQ(parse_method("greedy+tree").preset.speculation.num_candidates,
            parse_method("tree").preset.speculation.num_candidates);
  EXPECT_EQ(parse_method("baseline+ngram").preset.sources, std::vector<std::string>{"ngram"});
}

TEST(Method, PartsThatMakeNoSenseAreNamed) {
  const auto expect_refused = [](const std::string& name, const std::string& why) {
    expect_user_error([&] { parse_method(name); }, {name, why});
  };
  expect_refused("top3+reflection", "a verifier already");
  expect_refused("greedy+top3", "a verifier already");
  expect_refused("greedy+ngram+top3", "a verifier already");
  expect_refused("cllm+jacobi", "already");
  expect_refused("tree+economy", "a preset already");
  expect_refused("economy+tree", "a tree already");
  expect_refused("greedy+split=paper+split=natural", "a split already");
  expect_refused("baseline+top3", "drafts nothing");
  expect_refused("prefill+eager", "drafts nothing");
  expect_refused("greedy+rate=0", "1 to 1000000");
  expect_refused("greedy+rate=fast", "1 to 1000000");
  expect_refused("greedy+split=both", "+split=paper");
}

TEST(Report, NamesTheTextsThatRoundingChanged) {
  Fixture fixture;
  EXPECT_EQ(format_table(fixture.report()).find("differ"), std::string::npos);
  EvalRow& greedy = fixture.run.rows[6];
  greedy.result.text = "No.";
  greedy.flip = Flip{.token = 3, .margin = 0.0625};
  const Json report = fixture.report();
  EXPECT_EQ(report["comparisons"]["greedy"]["equal_text"]["flips"],
            Json::parse(R"([{"turn":1,"token":3,"margin":0.0625}])"));
  EXPECT_NE(format_table(report).find("greedy: 1 of 2 texts differ from those of baseline"),
            std::string::npos);
  EXPECT_NE(format_table(report).find("0.0625 (turn 1, token 3)"), std::string::npos);
}

}  // namespace
}  // namespace predgen::evaluate
