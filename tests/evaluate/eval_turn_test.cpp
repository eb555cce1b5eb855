#include "evaluate/eval_turn.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

// That the rules are the public graders' is checked by grading_parity.py; these say what they are.

std::string found(AnswerKind kind, Extraction extraction, const char* answer) {
  return extract_answer(kind, extraction, answer).value_or("none");
}

TEST(Grading, ANumberIsTheLastOneOrTheMarkedOne) {
  const char* answer = "5 + 4 = 9, so\n#### 1,009. Or 7?\n\nQuestion: What is 1 + 1?\n#### 2";
  EXPECT_EQ(found(AnswerKind::kNumber, Extraction::kStrict, answer), "1,009.");
  EXPECT_EQ(found(AnswerKind::kNumber, Extraction::kFlexible, answer), "7");
  EXPECT_EQ(found(AnswerKind::kNumber, Extraction::kStrict, "It is 72."), "none");
  EXPECT_EQ(found(AnswerKind::kNumber, Extraction::kFlexible, "seventy-two"), "none");
}

TEST(Grading, ALetterIsTheStatedOneThenTheLabelledThenTheLast) {
  const auto letter = [](const char* answer) {
    return found(AnswerKind::kLetter, Extraction::kFlexible, answer);
  };
  EXPECT_EQ(letter("Answer: B. But the answer is (C), not D."), "C");
  EXPECT_EQ(letter("A is wrong. Answer: B, not D."), "B");
  EXPECT_EQ(letter("A is wrong,\nso D."), "D");
  EXPECT_EQ(letter("It is K."), "none");
  EXPECT_EQ(found(AnswerKind::kLetter, Extraction::kStrict, "Answer: B"), "none");
}

TEST(Grading, ComparesNumbersAsTheHarnessDoes) {
  const auto right = [](const char* number) {
    return is_right({AnswerKind::kNumber, "1,800"}, number);
  };
  EXPECT_TRUE(right("$1800."));
  EXPECT_TRUE(right("1,800"));
  EXPECT_FALSE(right("1800.0"));
  EXPECT_FALSE(right("1800.."));
  EXPECT_FALSE(is_right({AnswerKind::kNumber, ""}, std::nullopt));
}

TEST(Grading, AnAnswerCanBeRightByOneRuleOnly) {
  const Grade flexible = grade({AnswerKind::kNumber, "72"}, "It is 72.");
  EXPECT_TRUE(flexible.is_right);
  EXPECT_FALSE(flexible.is_strictly_right);
  EXPECT_EQ(flexible.extracted, "72.");
  const Grade strict = grade({AnswerKind::kNumber, "72"}, "#### 72, of 100");
  EXPECT_FALSE(strict.is_right);
  EXPECT_TRUE(strict.is_strictly_right);
}

}  // namespace
}  // namespace predgen::evaluate
