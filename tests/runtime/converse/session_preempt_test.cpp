#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/stage.h"

// Answers that are begun at a pause, as preemptive generation has them.
namespace predgen {
namespace {

constexpr auto kPreempt = InputTimeWork::kPreempt;

std::vector<std::string> drafts_of(const TurnResult& result) {
  std::vector<std::string> drafts;
  for (const TurnEvent& event : result.events) {
    if (event.kind == TurnEvent::Kind::kDraft) drafts.push_back(event.text);
  }
  return drafts;
}

std::string by_words(const std::string& user) {
  return user.find("b") == std::string::npos ? "Yes I can. Go on!" : "No well. Go on!";
}

// Of "Yes I can. Go on!": the prompt's pass gives the first of 7 tokens, one more ends it.
constexpr int64_t kWholeAnswer = 8;

TEST(SessionPreempt, AnAnswerIsBegunAtAPauseOnly) {
  Stage stage({.work = kPreempt});
  const TurnResult idle = stage.run({partial("a", 0.1), partial("a a", 2), final_one("a a", 4)});
  EXPECT_EQ(idle.metrics.speculative_nfe, 0);
  EXPECT_EQ(idle.metrics.spec_tokens_drafted, 0);
  EXPECT_FALSE(idle.metrics.ready_before_end);
}

TEST(SessionPreempt, TheWholeAnswerIsThereAndIsUsedWithoutAPass) {
  Stage plain({.work = InputTimeWork::kCascade}), stage({.work = kPreempt});
  const std::vector<Transcript> turn{partial("a", 0.1), stable("a", 0.3), final_one("a", 2)};
  const TurnResult expected = plain.run(turn), result = stage.run(turn);
  EXPECT_EQ(result.answer, expected.answer);
  EXPECT_EQ(result.text, "Yes I can. Go on!");
  EXPECT_EQ(drafts_of(result), std::vector<std::string>{"Yes I can. Go on!"});
  const TurnMetrics& metrics = result.metrics;
  EXPECT_EQ(metrics.nfe_to_first_sentence, 0);
  EXPECT_EQ(metrics.ttfs, 0);
  EXPECT_EQ(metrics.speculative_nfe, kWholeAnswer);
  EXPECT_EQ(metrics.total_nfe, expected.metrics.total_nfe);
  EXPECT_TRUE(metrics.first_sentence_kept && metrics.ready_before_end);
  EXPECT_FALSE(result.answers_partial);
  EXPECT_EQ(metrics.spec_tokens_drafted, std::ssize(result.answer));
  EXPECT_EQ(metrics.spec_tokens_accepted, std::ssize(result.answer));
  EXPECT_EQ(metrics.spec_tokens_wasted, 0);
}

TEST(SessionPreempt, WhatIsBegunGoesOnAfterTheFinalTranscript) {
  Stage plain({.work = InputTimeWork::kCascade}), stage({.work = kPreempt});
  // Three passes end before the final transcript comes, and one is under way.
  const std::vector<Transcript> turn{stable("a", 1), final_one("a", 1 + 3.5 * kPass)};
  const TurnResult expected = plain.run(turn), result = stage.run(turn);
  EXPECT_EQ(result.answer, expected.answer);
  EXPECT_EQ(result.metrics.speculative_nfe, 4);
  EXPECT_EQ(result.metrics.total_nfe, kWholeAnswer);
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, *expected.metrics.nfe_to_first_sentence - 4);
  EXPECT_FALSE(result.metrics.ready_before_end);
  EXPECT_EQ(result.metrics.spec_tokens_accepted, 4);
}

TEST(SessionPreempt, ASentenceFromThePassUnderWayWasNotReady) {
  Stage plain({.work = InputTimeWork::kCascade});
  const auto passes = plain.run({final_one("a", 1)}).metrics.nfe_to_first_sentence.value_or(0);
  for (const bool in_time : {false, true}) {
    Stage stage({.work = kPreempt});
    const double end = 1 + (static_cast<double>(passes) + (in_time ? 0.5 : -0.5)) * kPass;
    const TurnResult result = stage.run({stable("a", 1), final_one("a", end)});
    EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0) << in_time;
    EXPECT_EQ(result.metrics.ready_before_end, in_time);
  }
}

TEST(SessionPreempt, ASentenceThatIsCutIsReadyInEveryMethod) {
  for (const auto work : {kPreempt, InputTimeWork::kSpeculate}) {
    for (const bool in_time : {false, true}) {
      Stage stage({.work = work, .answer = [](const std::string&) {
                     std::string endless;
                     for (int i = 0; i < 60; ++i) endless += " well";
                     return endless;
                   }});
      stage.session.set_max_new_tokens(8);
      const double end = 1 + (in_time ? 8.5 : 7.5) * kPass;
      const TurnResult result = stage.run({stable("a", 1), final_one("a", end)});
      EXPECT_EQ(result.answer.size(), 8u);
      EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0);
      EXPECT_EQ(result.metrics.ready_before_end, in_time);
    }
  }
}

TEST(SessionPreempt, OtherWordsThrowItAway) {
  Stage plain({.work = InputTimeWork::kCascade, .answer = by_words});
  Stage stage({.work = kPreempt, .answer = by_words});
  const std::vector<Transcript> turn{stable("a", 1), partial("a b", 3), final_one("a b", 4)};
  const TurnResult expected = plain.run(turn), result = stage.run(turn);
  EXPECT_EQ(result.answer, expected.answer);
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, expected.metrics.nfe_to_first_sentence);
  EXPECT_EQ(result.metrics.speculative_nfe, kWholeAnswer);
  EXPECT_EQ(result.metrics.spec_tokens_accepted, 0);
  EXPECT_EQ(result.metrics.spec_tokens_wasted, result.metrics.spec_tokens_drafted);
  EXPECT_FALSE(result.metrics.first_sentence_kept || result.metrics.ready_before_end);
}

TEST(SessionPreempt, NothingOfItStaysThoughTheAnswerIsTheSame) {
  Stage plain({.work = InputTimeWork::kCascade}), stage({.work = kPreempt});
  const std::vector<Transcript> turn{stable("a", 1), final_one("a b", 4)};
  const TurnResult expected = plain.run(turn), result = stage.run(turn);
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, expected.metrics.nfe_to_first_sentence);
  EXPECT_EQ(result.metrics.spec_tokens_accepted, 0);
  // The sound of its first sentence is made anew, too.
  EXPECT_NEAR(*result.metrics.audio_latency, *result.metrics.ttfs + 0.2, 1e-9);
}

TEST(SessionPreempt, OtherWordsEndTheWorkAtOnce) {
  Stage stage({.work = kPreempt, .answer = by_words});
  const TurnResult result =
      stage.run({stable("a", 1), partial("a b", 1 + 2.5 * kPass), final_one("a b", 9)});
  EXPECT_EQ(result.metrics.speculative_nfe, 3);
}

TEST(SessionPreempt, CaseAndPunctuationKeepIt) {
  Stage stage({.work = kPreempt});
  const TurnResult result = stage.run(
      {stable("so it  is", 1), partial("So it, is", 1 + 2.5 * kPass), final_one("So it is?", 4)});
  EXPECT_EQ(result.metrics.speculative_nfe, kWholeAnswer);  // the partial did not end it
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0);
  EXPECT_TRUE(result.metrics.ready_before_end);
  EXPECT_TRUE(result.answers_partial);
  EXPECT_EQ(result.prompt_text, "So it is?");
  EXPECT_EQ(stage.session.history().front().content, "So it is?");
}

TEST(SessionPreempt, ThreeAreBegunInATurnAtMost) {
  Stage stage({.work = kPreempt});
  std::vector<Transcript> turn;
  for (int i = 0; i < 5; ++i) {
    const std::string words = "a" + std::to_string(i);
    turn.push_back(partial(words, 2 * i + 1));
    turn.push_back(stable(words, 2 * i + 2));
  }
  turn.push_back(final_one("a4", 20));
  const TurnResult result = stage.run(turn);
  EXPECT_EQ(drafts_of(result).size(), 3u);
  EXPECT_EQ(result.metrics.speculative_nfe, 3 * kWholeAnswer);
  EXPECT_GT(result.metrics.nfe_to_first_sentence, 0);
}

TEST(SessionPreempt, SoundIsPreparedWhereItIsAskedFor) {
  for (const bool sound_ahead : {false, true}) {
    Stage stage({.work = kPreempt, .sound_ahead = sound_ahead});
    const TurnResult result = stage.run({stable("a", 1), final_one("a", 4)});
    EXPECT_EQ(stage.speaker.all_prepared[0].size(), sound_ahead ? 1u : 0u);
    EXPECT_NEAR(*result.metrics.audio_latency, sound_ahead ? 0 : 0.2, 1e-9);
    EXPECT_EQ(result.metrics.ttfs, 0);
    EXPECT_EQ(result.metrics.lead_time.value_or(0) > 0, sound_ahead);
  }
}

TEST(SessionPreempt, ALongPromptIsNotWaitedForWhenOtherWordsCome) {
  Stage stage({.work = kPreempt, .answer = by_words, .pass_tokens = 4});
  const std::string words = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  const TurnResult result =
      stage.run({stable(words, 1), partial("b", 1 + 1.5 * kPass), final_one("b", 9)});
  EXPECT_EQ(result.metrics.speculative_nfe, 2);
  EXPECT_TRUE(drafts_of(result).empty());
  EXPECT_EQ(result.text, "No well. Go on!");
}

}  // namespace
}  // namespace predgen
