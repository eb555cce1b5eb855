#include "evaluate/turn_rounds.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

TEST(TurnRounds, CountsTheUsersTurns) {
  std::vector<EvalTurn> turns(4);
  turns[1].history = {{"user", "x"}, {"assistant", "y"}};
  turns[2].continues = turns[3].continues = true;
  EXPECT_EQ(round_of(turns, 0), 1);
  EXPECT_EQ(round_of(turns, 1), 2);
  EXPECT_EQ(round_of(turns, 3), 4);
  turns[1].right_answer = RightAnswer{AnswerKind::kLetter, "B"};  // its history are examples
  EXPECT_EQ(round_of(turns, 1), 1);
}

TEST(TurnRounds, WordsThatARecogniserTookBack) {
  const auto said = [](const std::vector<std::string>& texts) {
    std::vector<Transcript> recorded;
    for (const std::string& text : texts) recorded.push_back({.text = text});
    return revised_share(recorded);
  };
  EXPECT_EQ(said({}), std::nullopt);
  EXPECT_EQ(said({""}), 0.0);
  EXPECT_EQ(said({"I", "I want", "I want tea"}), 0.0);
  // "wand" and "to" are taken back, of I wand to, want tea.
  EXPECT_EQ(said({"I wand to", "I want tea"}), 0.4);
}

}  // namespace
}  // namespace predgen::evaluate
