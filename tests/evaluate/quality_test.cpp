#include "evaluate/quality.h"

#include <gtest/gtest.h>

#include "evaluate/method_table.h"

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

EvalTurn turn(const std::string& heard, const std::string& said, double wait, bool is_cut_off) {
  EvalTurn turn;
  turn.prompt_text = heard;
  turn.recorded = {{.text = heard, .time = Seconds(2 + wait), .is_final = true}};
  turn.voice = RecordedVoice{.said = said, .ended = Seconds(2), .is_cut_off = is_cut_off};
  return turn;
}

TEST(CountWordErrors, PutInLeftOutAndReplaced) {
  EXPECT_EQ(count_word_errors("Why do cats purr?", "why do cats purr"), 0);
  EXPECT_EQ(count_word_errors("why do the cats purr", "why do cats purr"), 1);
  EXPECT_EQ(count_word_errors("why cats purr", "why do cats purr"), 1);
  EXPECT_EQ(count_word_errors("why do bats purr", "why do cats purr"), 1);
  EXPECT_EQ(count_word_errors("", "why do cats purr"), 4);
  EXPECT_EQ(count_word_errors("a b", ""), 2);
  EXPECT_EQ(count_word_errors("b a", "a b"), 2);
}

TEST(DescribeHeard, TurnsThatWereCutOffAreCountedAlone) {
  TurnSet set;
  set.turns = {turn("why do bats purr", "Why do cats purr?", 0.2, false),
               turn("hello there", "Hello there", 0.4, false),
               turn("what", "What time is it in Rome?", -1, true)};
  const Json heard = describe_heard(set);
  EXPECT_EQ(heard["turns"], 3);
  EXPECT_EQ(heard["cut_off"], 1);
  EXPECT_EQ(heard["words"], 6);
  EXPECT_EQ(heard["word_errors"], 1);
  EXPECT_NEAR(heard["wait"]["p50"].get<double>(), 0.3, 1e-9);
  EXPECT_EQ(heard_line({{"heard", heard}}),
            "1 of 3 spoken turns were cut off; of the others 16.7 % of the words were heard wrong, "
            "and they were over 300 ms after the voice (P50; P95 390 ms).");
}

TEST(DescribeHeard, NothingIsSaidOfASetThatDoesNotSay) {
  TurnSet set;
  set.turns.resize(2);
  EXPECT_TRUE(describe_heard(set).is_null());
  EXPECT_EQ(heard_line({{"heard", nullptr}}), "");
}

TEST(DescribeHeard, AllMayBeCutOff) {
  TurnSet set;
  set.turns = {turn("what", "What time is it?", -1, true)};
  EXPECT_EQ(heard_line({{"heard", describe_heard(set)}}), "1 of 1 spoken turns were cut off.");
}

}  // namespace
}  // namespace predgen::evaluate
