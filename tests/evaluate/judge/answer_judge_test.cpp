#include "evaluate/judge/answer_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

constexpr const char* kPrompts =
    R"({"type":"single","system_prompt":"","prompt_template":"1 {question} | {answer}"}
{"type":"single","system_prompt":"","prompt_template":"1r {question} | {ref_answer_1} | {answer}"}
{"type":"single","system_prompt":"","prompt_template":"2 {question_1} | {answer_1} | {question_2} | {answer_2}"}
{"type":"pairwise","system_prompt":"","prompt_template":"p {question} | {answer_a} | {answer_b}"}
{"type":"pairwise","system_prompt":"","prompt_template":"pr {question} | {ref_answer_1} | {answer_a} | {answer_b}"}
{"type":"pairwise","system_prompt":"","prompt_template":"p2 {question_1} {question_2} {answer_a_1} {answer_b_1} | {answer_a_2} | {answer_b_2}"}
)";

/// A judge that prefers and likes what holds "good".
struct JudgeBench {
  TemporaryFolder folder;
  JudgeConfig config;
  std::vector<EvalTurn> turns{{"81/0", {}, "write", {}}, {"81/1", {}, "again", {}}};
  Json rows = Json::array();
  std::vector<std::string> asked;
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  std::function<std::string(const std::string&)> judge = verdict;

  JudgeBench() {
    write_file(folder / "prompts.jsonl", kPrompts);
    config.prompts = folder / "prompts.jsonl";
    config.cache = folder.path();
    config.retries = 0;
    turns[1].continues = true;
    for (const size_t turn : {0, 1}) {
      add(turn, "baseline", "plain");
      add(turn, "greedy", "plain");
      add(turn, "top3", turn == 0 ? "good" : "bad");
    }
  }
  void add(size_t turn, const std::string& method, const std::string& text) {
    rows.push_back({{"turn", turn}, {"method", method}, {"text", text}});
  }
  static std::string verdict(const std::string& user) {
    if (user[0] != 'p') return user.find("good") != std::string::npos ? "[[9]]" : "[[5]]";
    const size_t last = user.rfind('|'), good = user.rfind("good"), bad = user.rfind("bad");
    if (good != std::string::npos && user[1] != '2') return good > last ? "[[B]]" : "[[A]]";
    return bad > last ? "[[A]]" : "[[B]]";
  }
  void ask() {
    const auto post = [&](const std::string& body) {
      asked.push_back(Json::parse(body)["messages"].back()["content"].get<std::string>());
      const std::string text = judge(asked.back());
      return PostReply{200, Json{{"choices", {{{"message", {{"content", text}}}}}}}.dump(), "", {}};
    };
    JudgeClient client(config, "", post, clock);
    AnswerJudge(config, turns).judge(rows, client, [] {});
  }
};

TEST(AnswerJudge, GradesAndComparesInBothOrders) {
  JudgeBench bench;
  bench.ask();
  const Json& rows = bench.rows;
  EXPECT_EQ(rows[0]["judge_grade"], 5);
  EXPECT_EQ(rows[2]["judge_grade"], 9);
  EXPECT_TRUE(rows[0]["judge_against_baseline"].is_null());  // it itself
  EXPECT_EQ(rows[1]["judge_against_baseline"], "tie");       // the same text
  EXPECT_EQ(rows[2]["judge_against_baseline"], "win");
  EXPECT_EQ(rows[5]["judge_against_baseline"], "loss");
  EXPECT_EQ(
      bench.asked,
      (std::vector<std::string>{
          "1 write | plain", "1 write | good", "p write | plain | good", "p write | good | plain",
          "2 write | plain | again | plain", "2 write | good | again | bad",
          "p2 write again plain good | plain | bad", "p2 write again good plain | bad | plain"}));
}

TEST(AnswerJudge, APreferenceForAPlaceIsATie) {
  JudgeBench bench;
  bench.judge = [](const std::string& user) { return user[0] == 'p' ? "[[A]]" : "[[5]]"; };
  bench.ask();
  EXPECT_EQ(bench.rows[2]["judge_against_baseline"], "tie");
}

TEST(AnswerJudge, WhatCannotBeJudgedHasItsReason) {
  JudgeBench bench;
  bench.judge = [](const std::string& user) { return user[0] == 'p' ? "dunno" : "eleven"; };
  bench.ask();
  const auto problem = [&](size_t row, const char* of) -> std::string {
    return bench.rows[row][std::string("judge_") + of + "_problem"];
  };
  EXPECT_TRUE(bench.rows[2]["judge_grade"].is_null());
  EXPECT_THAT(problem(2, "grade"), testing::HasSubstr("eleven"));
  EXPECT_TRUE(bench.rows[2]["judge_against_baseline"].is_null());
  EXPECT_THAT(problem(2, "against_baseline"), testing::HasSubstr("dunno"));
  EXPECT_EQ(problem(1, "against_baseline"), "");
}

TEST(AnswerJudge, ReferencesAndHistoryAreShown) {
  JudgeBench bench;
  bench.turns = {{"81/0", {}, "write", {}},
                 {"x", {{"user", "hi"}, {"assistant", "yes?"}}, "a table", {}}};
  write_file(bench.folder / "references.jsonl",
             R"({"question_id":81,"choices":[{"turns":["so","and so"]}]})");
  bench.config.references = bench.folder / "references.jsonl";
  bench.config.pairs = false;
  bench.ask();
  EXPECT_EQ(bench.asked.at(0), "1r write | so | plain");
  EXPECT_EQ(bench.asked.at(2), "1 User: hi\n\nAssistant: yes?\n\nUser: a table | plain");
}

TEST(AnswerJudge, TheEstimateIsABound) {
  JudgeBench bench;
  const auto estimate = AnswerJudge(bench.config, bench.turns).estimate(3, 100);
  bench.ask();
  EXPECT_EQ(estimate.calls, 2 * 3 + 2 * 2 * 2);
  EXPECT_GE(estimate.calls, std::ssize(bench.asked));
  // 3 grades and 4 comparisons; of the second turns with two answers each.
  EXPECT_GE(estimate.prompt_tokens, 3 * 100 + 4 * 200 + 3 * 200 + 4 * 400);
  EXPECT_LE(estimate.prompt_tokens, 3 * 100 + 4 * 200 + 3 * 200 + 4 * 400 + 14 * 20);
  EXPECT_EQ(estimate.reply_tokens, estimate.calls * 2048);
}

TEST(AnswerJudge, SaysBeforeTheRunWhichPromptIsMissing) {
  JudgeBench bench;
  write_file(bench.folder / "prompts.jsonl",
             R"({"type":"single","system_prompt":"","prompt_template":"{question} {answer}"})");
  expect_user_error([&] { AnswerJudge(bench.config, bench.turns); },
                    {"prompts.jsonl", "pairwise", "{answer_a} {answer_b} {question}"});
}

}  // namespace
}  // namespace predgen::evaluate
