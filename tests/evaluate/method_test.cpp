#include "evaluate/method.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen::evaluate {
namespace {

TEST(Method, AnswersBegunAtAPauseHaveTheirSoundAheadOrNot) {
  const Method plain = parse_method("preemptive"), sound = parse_method("preemptive_tts");
  EXPECT_EQ(plain.work, InputTimeWork::kPreempt);
  EXPECT_FALSE(plain.sound_ahead);
  EXPECT_EQ(sound.work, InputTimeWork::kPreempt);
  EXPECT_TRUE(sound.sound_ahead);
  EXPECT_TRUE(parse_method("preemptive+sound").sound_ahead);
  EXPECT_EQ(parse_method("preemptive+ngram").preset.sources.size(), 1u);
}

TEST(Method, AWaitIsComparedWithTheSameWait) {
  EXPECT_EQ(parse_method("greedy").end_of_turn_wait, std::nullopt);
  const Method method = parse_method("greedy+wait=0.5+split=paper");
  EXPECT_EQ(method.end_of_turn_wait, 0.5);
  EXPECT_EQ(baseline_method(method), "baseline+split=paper+wait=0.5");
  EXPECT_EQ(baseline_method(parse_method("top3+wait=0")), "baseline+wait=0");
  EXPECT_EQ(baseline_method(parse_method("greedy")), "baseline");
  EXPECT_EQ(plain_method(method), "baseline+wait=0.5");
  EXPECT_EQ(plain_method(parse_method("cllm+wait=2")), "cllm_ar+wait=2");
  EXPECT_EQ(parse_method(baseline_method(method)).end_of_turn_wait, 0.5);
}

TEST(Method, AGrammarIsComparedWithTheSameGrammar) {
  const Method method = parse_method("greedy+early+grammar+wait=0.5");
  EXPECT_TRUE(method.early && method.grammar);
  EXPECT_EQ(plain_method(method), "baseline+grammar+wait=0.5");
  EXPECT_EQ(baseline_method(method), "baseline+grammar+wait=0.5");
  EXPECT_EQ(baseline_method(parse_method("greedy+early")), "baseline");
  expect_user_error([] { parse_method("baseline+early"); }, {"drafts nothing"});
  expect_user_error([] { parse_method("preemptive+early"); }, {"from scratch"});
}

TEST(Method, MaskTokensChangeNoText) {
  const Method method = parse_method("best+mtp+wait=0.5");
  EXPECT_TRUE(method.adapter && method.mtp);
  EXPECT_EQ(plain_method(method), "baseline+wait=0.5");
  EXPECT_EQ(plain_method(parse_method("mtp")), "baseline");
  EXPECT_EQ(plain_method(parse_method("greedy+adapter")), "cllm_ar");
  expect_user_error([] { parse_method("cllm+mtp"); }, {"there is a LoRA adapter already"});
}

TEST(Method, SaysWhatToChange) {
  const auto parse = [](const char* name) { return [name] { parse_method(name); }; };
  expect_user_error(parse("greedy+wait=11"), {"give a wait of 0 to 10 seconds"});
  expect_user_error(parse("greedy+wait=soon"), {"give a wait of 0 to 10 seconds"});
  expect_user_error(parse("greedy+wait=0.50"), {"write it as +wait=0.5"});
  expect_user_error(parse("greedy+wait=1+wait=2"), {"there is a wait already"});
  expect_user_error(parse("greedy+rate=0"), {"give a rate of 1 to 1000000"});
  expect_user_error(parse("preemptive_tts+sound"), {"there is a sound already"});
  expect_user_error(parse("baseline+sound"), {"answers nothing while the user speaks"});
  expect_user_error(parse("preemptive+tree"), {"from scratch"});
  expect_user_error(parse("preemptive+top3"), {"from scratch"});
}

}  // namespace
}  // namespace predgen::evaluate
