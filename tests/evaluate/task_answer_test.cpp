#include "evaluate/task_answer.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

EvalTurn turn(const char* prompt, const char* reference) {
  EvalTurn turn{
      "a", {{"user", "Find Thai food."}, {"assistant", "How about Lers Ros?"}}, prompt, {}};
  turn.reference = reference;
  return turn;
}

TEST(TaskAnswer, TheActIsTheSurfaces) {
  EXPECT_EQ(act_of("I found 10 places. How about Sino?"), Act::kTells);
  EXPECT_EQ(act_of("Please confirm: a table at Sino."), Act::kTells);
  EXPECT_EQ(act_of("Okay. In which city?"), Act::kAsks);
  EXPECT_EQ(act_of("Have a great day!"), Act::kNeither);
  EXPECT_EQ(act_of(""), Act::kNeither);
}

TEST(TaskAnswer, ValuesThatNobodySaidAreInvented) {
  const EvalTurn given =
      turn("In Oakland at 6 pm, for 12 people", "A table at Lers Ros, at 18:00?");
  // Said by the user before and now, offered before, in the reference.
  const TaskAnswer good =
      compare_task_answer(given, "A Thai table at Lers Ros in Oakland at 18:00");
  EXPECT_EQ(good.num_values, 5);
  EXPECT_EQ(good.num_known_values, 5);
  EXPECT_TRUE(good.same_act);
  const TaskAnswer bad = compare_task_answer(given, "At Sino in San Jose for 13, at Oaklands?");
  EXPECT_EQ(bad.num_values, 5);
  EXPECT_EQ(bad.num_known_values, 0);
  const TaskAnswer asks = compare_task_answer(given, "In which city?");
  EXPECT_EQ(asks.num_values, 0);
  EXPECT_FALSE(asks.same_act);
}

}  // namespace
}  // namespace predgen::evaluate
