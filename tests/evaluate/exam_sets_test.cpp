#include "evaluate/exam_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/shared_data.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

constexpr const char* kAdd =
    R"({"question":"What is 1 + 2?","answer":"1 + 2 = <<1+2=3>>3\n#### 3"})"
    "\n";
constexpr const char* kShots = R"({"question":"One?","answer":"#### 1"})"
                               "\n"
                               R"({"question":"Two?","answer":"#### 2"})"
                               "\n"
                               R"({"question":"Three?","answer":"#### 3"})"
                               "\n";

std::string mmlu_row(int id, const char* category, const char* reasoning, const char* answer) {
  return fmt::format(
      R"({{"question_id":{},"question":"Which of {}?","options":["one","two","N/A"],)"
      R"("answer":"{}","cot_content":"{}","category":"{}"}})"
      "\n",
      id, id, answer, reasoning, category);
}

class ExamSets : public testing::Test {
 protected:
  TurnSetConfig config(TurnSetKind kind, const std::string& rows, const std::string& shots = "",
                       int64_t num_shots = 0) {
    write_file(folder_ / "test.jsonl", rows);
    write_file(folder_ / "shots.jsonl", shots);
    TurnSetConfig config;
    config.kind = kind;
    config.file = folder_ / "test.jsonl";
    config.shots = num_shots;
    config.shots_file = folder_ / "shots.jsonl";
    return config;
  }

  const TemporaryFolder folder_;
};

TEST_F(ExamSets, Gsm8kShotsAreEarlierRounds) {
  const TurnSet set = load_turns(config(TurnSetKind::kGsm8k, kAdd, kShots, 2));
  ASSERT_EQ(set.turns.size(), 1u);
  const EvalTurn& turn = set.turns[0];
  EXPECT_EQ(turn.id, "1");
  EXPECT_EQ(turn.prompt_text, "What is 1 + 2?");
  ASSERT_EQ(turn.history.size(), 4u);
  EXPECT_EQ(turn.history[0].content, "One?");
  EXPECT_EQ(turn.history[3].role, "assistant");
  EXPECT_EQ(turn.history[3].content, "#### 2");
  EXPECT_EQ(turn.right_answer.value().text, "3");
  EXPECT_EQ(turn.right_answer->kind, AnswerKind::kNumber);
}

TEST_F(ExamSets, Gsm8kWholePromptIsTheHarnesss) {
  TurnSetConfig whole = config(TurnSetKind::kGsm8k, kAdd, kShots, 2);
  whole.streams = Streams::kPrompt;
  const EvalTurn turn = load_turns(whole).turns.at(0);
  EXPECT_TRUE(turn.history.empty());
  EXPECT_EQ(turn.prompt_text,
            "Question: One?\nAnswer: #### 1\n\nQuestion: Two?\nAnswer: #### 2\n\n"
            "Question: What is 1 + 2?\nAnswer:");
  EXPECT_EQ(turn.question, "What is 1 + 2?");
}

TEST_F(ExamSets, MmluProStreamsQuestionAndOptions) {
  const TurnSet set = load_turns(config(TurnSetKind::kMmluPro, mmlu_row(7, "law", "", "B")));
  const EvalTurn& turn = set.turns.at(0);
  EXPECT_EQ(turn.id, "7");
  EXPECT_EQ(turn.prompt_text, "Question:\nWhich of 7?\nOptions:\nA. one\nB. two");
  EXPECT_THAT(turn.instruction, testing::HasSubstr("about law. Think step by step"));
  EXPECT_EQ(turn.category, "law");
  EXPECT_EQ(turn.right_answer.value().text, "B");
  EXPECT_TRUE(turn.history.empty());
}

TEST_F(ExamSets, MmluProShotsAreOfTheSameCategory) {
  const std::string shots = mmlu_row(1, "maths", "A: Let's think. So A.", "A") +
                            mmlu_row(2, "law", "", "A") +
                            mmlu_row(3, "law", "A: Let's think. So B.", "B");
  TurnSetConfig some = config(TurnSetKind::kMmluPro, mmlu_row(7, "law", "", "B"), shots, 1);
  const EvalTurn rounds = load_turns(some).turns.at(0);
  ASSERT_EQ(rounds.history.size(), 2u);
  EXPECT_EQ(rounds.history[0].content, "Question:\nWhich of 3?\nOptions:\nA. one\nB. two");
  EXPECT_EQ(rounds.history[1].content, "Let's think. So B.");
  some.streams = Streams::kPrompt;
  const EvalTurn whole = load_turns(some).turns.at(0);
  EXPECT_TRUE(whole.history.empty());
  EXPECT_TRUE(whole.instruction.empty());
  EXPECT_EQ(whole.prompt_text,
            "The following are multiple choice questions (with answers) about law. Think step by "
            "step and then finish your answer with \"the answer is (X)\" where X is the correct "
            "letter choice.\n\n\n\n"
            "Question:\nWhich of 3?\nOptions:\nA. one\nB. two\nAnswer: Let's think. So B.\n\n"
            "Question:\nWhich of 7?\nOptions:\nA. one\nB. two\nAnswer: Let's think step by step.");
}

TEST_F(ExamSets, ErrorsNameTheRow) {
  const auto fails = [&](const TurnSetConfig& bad, const std::vector<std::string>& parts) {
    expect_user_error([&] { load_turns(bad); }, parts);
  };
  using enum TurnSetKind;
  fails(config(kGsm8k, kAdd + std::string(R"({"question":"?","answer":"3"})")),
        {"test.jsonl:2", "####"});
  fails(config(kGsm8k, R"({"question":"?"})"), {"test.jsonl:1", "\"answer\""});
  fails(config(kGsm8k, R"({"question":" ","answer":"#### 3"})"), {"test.jsonl:1", "blank"});
  fails(config(kGsm8k, kAdd, kShots, 4), {"shots.jsonl", "3 worked examples", "asks for 4"});
  fails(config(kMmluPro, mmlu_row(7, "law", "", "C")), {"test.jsonl:1", "\"C\""});
  fails(config(kMmluPro, mmlu_row(7, "law", "", "AB")), {"test.jsonl:1", "\"AB\""});
  fails(config(kMmluPro, mmlu_row(7, "law", "", "A"), mmlu_row(1, "law", "", "A"), 1),
        {"shots.jsonl", "0 worked examples of the category law"});
  TurnSetConfig missing = config(kGsm8k, kAdd);
  missing.file = folder_ / "absent.jsonl";
  fails(missing, {"absent.jsonl", "docs/data.md"});
}

TEST_F(ExamSets, SharedFiles) {
  PREDGEN_SHARED_OR_SKIP(data, "data");
  TurnSetConfig gsm8k;
  gsm8k.kind = TurnSetKind::kGsm8k;
  gsm8k.file = data / "gsm8k/test.jsonl";
  gsm8k.shots = 4;
  gsm8k.shots_file = data / "gsm8k/train.jsonl";
  EXPECT_EQ(load_turns(gsm8k).turns.size(), 400u);
  TurnSetConfig mmlu_pro;
  mmlu_pro.kind = TurnSetKind::kMmluPro;
  mmlu_pro.file = data / "mmlu_pro/test.jsonl";
  EXPECT_EQ(load_turns(mmlu_pro).turns.size(), 400u);
}

}  // namespace
}  // namespace predgen::evaluate
