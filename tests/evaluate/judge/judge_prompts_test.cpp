#include "evaluate/judge/judge_prompts.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

const std::string kBare = R"({"type":"single","system_prompt":"","prompt_template":"{answer}"})"
                          "\n";
const std::string kRow =
    R"({"type":"single","system_prompt":"Be fair.","prompt_template":"Q {question} {{x}} A {answer}"})"
    "\n";

TEST(JudgePrompts, APromptIsChosenByItsPlaces) {
  const TemporaryFolder folder;
  write_file(folder / "prompts.jsonl", kBare + kRow);
  const JudgePrompts prompts(folder / "prompts.jsonl");
  const JudgeRequest request =
      prompts.fill("single", {{"question", "why {answer}?"}, {"answer", "so"}});
  EXPECT_EQ(request.system, "Be fair.");
  EXPECT_EQ(request.user, "Q why {answer}? {x} A so");
  EXPECT_EQ(prompts.fill("single", {{"answer", "so"}}).user, "so");
  expect_user_error(
      [&] {
        prompts.fill("pairwise", {{"answer_a", ""}, {"question", ""}});
      },
      {"prompts.jsonl", "\"pairwise\"", "{answer_a} {question}"});
}

TEST(JudgePrompts, ErrorsNameTheRow) {
  const TemporaryFolder folder;
  const auto fails = [&](const std::string& row, const char* part) {
    write_file(folder / "prompts.jsonl", kRow + row);
    expect_user_error([&] { JudgePrompts(folder / "prompts.jsonl"); }, {"prompts.jsonl:2", part});
  };
  fails(R"({"type":"single","system_prompt":""})", "prompt_template");
  fails(R"({"type":"single","system_prompt":"","prompt_template":"{answer"})", "brace");
  fails(R"({"type":"single","system_prompt":"","prompt_template":"a } b"})", "brace");
}

TEST(JudgePrompts, VerdictsAreReadAsFastChatReadsThem) {
  EXPECT_EQ(find_grade("Good. Rating: [[7]]"), 7);
  EXPECT_EQ(find_grade("[3] sources. Rating: [[8.5]] [[2]]"), 8.5);
  EXPECT_EQ(find_grade("Rating: [10]"), 10);
  EXPECT_EQ(find_grade("[[ 7 ]] or [[seven]]"), std::nullopt);
  EXPECT_EQ(find_grade("[[11]]"), std::nullopt);
  EXPECT_EQ(find_grade("[[0]]"), std::nullopt);
  EXPECT_EQ(find_preference("A is longer, [[B]]"), 'B');
  EXPECT_EQ(find_preference("[[C]]"), 'C');
  EXPECT_EQ(find_preference("[[A]] rather than [[B]]"), 'A');
  EXPECT_EQ(find_preference("Both [A]"), std::nullopt);
}

}  // namespace
}  // namespace predgen::evaluate
