#include "runtime/listen/turn_recogniser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/fakes/manual_clock.h"
#include "tests/fakes/recogniser_desk.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kRate = 24000;  // Hz

/// Of 440 Hz; `begin`: the sample that it goes on from.
std::vector<float> tone(int64_t milliseconds, int64_t begin = 0) {
  std::vector<float> samples(static_cast<size_t>(milliseconds * kRate / 1000));
  for (size_t i = 0; i < samples.size(); ++i) {
    const double time = static_cast<double>(begin + static_cast<int64_t>(i)) / kRate;
    samples[i] = static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * 440 * time));
  }
  return samples;
}

struct Ear : RecognisedTurnHandler {
  explicit Ear(bool detects = false) { in.set_end({.is_detected = detects}); }
  void on_speech(int64_t number, int64_t milliseconds) override {
    begun.push_back(number);
    log.push_back("speech at " + std::to_string(milliseconds));
  }
  void on_words(const std::string& words) override { log.push_back("words " + words); }
  void on_turn(const RecognisedTurn& turn) override {
    log.push_back("turn " + turn.text);
    turns.push_back(turn);
  }
  void on_lost(const SoundError& why) override {
    log.push_back(why.kind() == SoundError::Kind::kLost ? "lost" : why.what());
  }

  std::optional<SoundError::Kind> refusal_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const SoundError& error) {
      return error.kind();
    }
    return std::nullopt;
  }

  RecogniserDesk desk;
  std::vector<std::string> log;
  std::vector<int64_t> begun;
  std::vector<RecognisedTurn> turns;
  ManualClock clock;
  TurnRecogniser in{desk.make, kRate, clock, *this};
};

TEST(TurnRecogniser, ChunksBecomeTheSoundOfTheRecogniser) {
  Ear whole, chunks;
  whole.in.add(tone(500));
  whole.in.commit();
  for (int64_t begin = 0; begin < 500; begin += 20) chunks.in.add(tone(20, begin * 24));
  chunks.in.commit();
  EXPECT_NEAR(static_cast<double>(whole.desk.samples.size()), 8000, 2);
  ASSERT_EQ(chunks.desk.samples.size(), whole.desk.samples.size());
  for (size_t i = 0; i < whole.desk.samples.size(); ++i) {
    ASSERT_NEAR(chunks.desk.samples[i], whole.desk.samples[i], 1e-4) << i;
    if (i < 100 || i + 100 > whole.desk.samples.size()) continue;  // where it begins and ends
    const double time = static_cast<double>(i) / kRecogniserRate;
    ASSERT_NEAR(chunks.desk.samples[i], 0.5 * std::sin(2 * std::numbers::pi * 440 * time), 0.01)
        << i;
  }
}

TEST(TurnRecogniser, ATurnThatIsCommittedHasWhatIsHeardUpToItsEnd) {
  Ear ear;
  ear.in.add(tone(1000));
  ear.desk.hear("find");
  ear.desk.hear("find me", /*is_over=*/true);
  ear.desk.hear("a", false, 1);
  ear.in.commit();
  EXPECT_THAT(ear.desk.log, ElementsAre("finish 0"));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.in.add(tone(200));  // of the next turn
  ear.desk.hear("a hotel", true, 1);
  ear.desk.end();
  EXPECT_THAT(ear.log, ElementsAre("words find", "words find me", "words find me a",
                                   "words find me a hotel", "turn find me a hotel"));
  EXPECT_TRUE(ear.turns[0].was_committed);
  EXPECT_EQ(ear.turns[0].stopped_at, std::nullopt);
  EXPECT_DOUBLE_EQ(ear.turns[0].seconds, 1);
  ear.in.commit();
  ear.desk.hear("cheap");
  ear.desk.end();
  EXPECT_EQ(ear.turns.back().text, "cheap");
  EXPECT_DOUBLE_EQ(ear.turns.back().seconds, 0.2);
}

TEST(TurnRecogniser, APauseEndsATurnAfterEnoughSilence) {
  Ear ear(/*detects=*/true);
  ear.in.add(tone(1000));
  ear.desk.hear("");
  ear.desk.hear("find me");
  EXPECT_THAT(ear.log, ElementsAre("speech at 1000", "words find me"));
  ear.desk.hear("find me", /*is_over=*/true);
  ear.in.add(tone(400));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.desk.hear("a hotel", false, 1);  // it was a short one
  ear.in.add(tone(1000));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.desk.hear("a hotel", true, 1);  // after more silence than is needed
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_EQ(ear.turns[0].text, "find me a hotel");
  EXPECT_EQ(ear.turns[0].number, ear.begun[0]);
  EXPECT_EQ(ear.turns[0].stopped_at, 2400);
  ear.desk.hear("", false, 2);
  ear.desk.hear("", true, 2);  // silence goes on
  ear.in.add(tone(1000));
  EXPECT_THAT(ear.turns, SizeIs(1));
  ear.desk.hear("and", false, 2);
  ear.desk.hear("and", true, 2);
  ear.in.add(tone(500));
  ASSERT_THAT(ear.turns, SizeIs(2));
  EXPECT_EQ(ear.turns[1].text, "and");
  EXPECT_NE(ear.turns[1].number, ear.turns[0].number);
}

TEST(TurnRecogniser, ANumberThatGoesOnIsAPauseToo) {
  Ear ear(/*detects=*/true);
  ear.in.add(tone(1000));
  ear.desk.hear("find me");
  ear.in.add(tone(1000));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.desk.hear("", false, 1);
  EXPECT_THAT(ear.turns, SizeIs(1));
}

TEST(TurnRecogniser, WhatIsSetAboutTurnsCounts) {
  Ear ear;
  ear.in.add(tone(1000));
  ear.desk.hear("one", /*is_over=*/true);
  ear.in.add(tone(1000));
  EXPECT_THAT(ear.turns, IsEmpty());  // the client commits
  ear.in.set_end({.is_detected = true, .silence_ms = 0});
  ear.desk.hear("two", true, 1);
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_EQ(ear.turns[0].text, "one two");
}

TEST(TurnRecogniser, WhatIsClearedIsForgotten) {
  Ear ear;
  ear.in.add(tone(1000));
  ear.desk.hear("find");
  ear.in.clear();
  EXPECT_THAT(ear.desk.log, ElementsAre("drop 0"));
  ear.desk.hear("find me");  // too late
  EXPECT_THAT(ear.log, ElementsAre("words find", "words "));
  EXPECT_EQ(ear.refusal_of([&] { ear.in.commit(); }), SoundError::Kind::kTurnTooShort);
  ear.in.add(tone(1000));
  ++ear.desk.utterance;
  ear.desk.hear("a");
  ear.in.commit();
  ear.desk.end();
  EXPECT_EQ(ear.turns.back().text, "a");
}

TEST(TurnRecogniser, WhatIsNoSoundIsRefused) {
  Ear ear;
  EXPECT_EQ(ear.refusal_of([&] { ear.in.commit(); }), SoundError::Kind::kTurnTooShort);
  ear.in.add({});
  ear.in.add(tone(99));
  EXPECT_EQ(ear.refusal_of([&] { ear.in.commit(); }), SoundError::Kind::kTurnTooShort);
  EXPECT_EQ(ear.refusal_of([&] { ear.in.add(tone(600'000)); }), SoundError::Kind::kTurnTooLong);
  ear.in.add(tone(1));
  ear.in.commit();
  for (int i = 0; i < 7; ++i) {
    ear.in.add(tone(100));
    ear.in.commit();
  }
  ear.in.add(tone(100));
  EXPECT_EQ(ear.refusal_of([&] { ear.in.commit(); }), SoundError::Kind::kTooManyTurns);
}

TEST(TurnRecogniser, ALostTurnIsNotAnsweredByItsRest) {
  Ear ear;
  ear.in.add(tone(1000));
  ear.desk.hear("find");
  ear.desk.handler->on_failure("has gone away");
  EXPECT_THAT(ear.log, ElementsAre("words find", "lost"));
  ear.desk.samples.clear();
  ear.in.add(tone(5000));
  EXPECT_THAT(ear.desk.samples, IsEmpty());
  EXPECT_EQ(ear.refusal_of([&] { ear.in.commit(); }), SoundError::Kind::kLost);
  ear.desk.utterance = 1;
  ear.in.add(tone(1000));
  EXPECT_FALSE(ear.desk.samples.empty());
  ear.in.commit();
  ear.desk.hear("hello");
  ear.desk.end();
  EXPECT_EQ(ear.turns.back().text, "hello");
}

TEST(TurnRecogniser, WhatWasCommittedIsLostWithIt) {
  Ear ear;
  ear.in.add(tone(1000));
  ear.in.commit();
  ear.desk.handler->on_failure("has gone away");
  ear.desk.hear("late");
  ear.desk.end();
  EXPECT_THAT(ear.log, ElementsAre("lost"));
}

TEST(TurnRecogniser, ARecogniserIsTriedAgainSoonWhileItListens) {
  Ear ear(/*detects=*/true);
  ear.desk.is_full = true;
  ear.in.add(tone(100));
  EXPECT_THAT(ear.log, ElementsAre("lost"));
  ear.desk.is_full = false;
  for (int i = 0; i < 3; ++i) ear.in.add(tone(4000));  // in no time
  ear.clock.set(1.9);
  ear.in.add(tone(100));
  EXPECT_THAT(ear.desk.samples, IsEmpty());
  ear.clock.set(2);
  ear.in.add(tone(100));
  EXPECT_THAT(ear.desk.samples, IsEmpty());  // the message that it wakes up with
  ear.in.add(tone(100));
  EXPECT_FALSE(ear.desk.samples.empty());
  EXPECT_THAT(ear.log, SizeIs(1));
}

TEST(TurnRecogniser, WordsWithoutEndAreLost) {
  Ear ear;
  ear.in.add(tone(1000));
  ear.desk.hear(std::string(70'000, 'a'));
  EXPECT_THAT(ear.log, ElementsAre("lost"));
}

TEST(TurnRecogniser, SegmentsOfChineseAndJapaneseHaveNoSpacesBetweenThem) {
  Ear ear;
  ear.in.add(tone(1000));
  ear.desk.hear("今天天气", /*is_over=*/true);
  ear.desk.hear("怎么样", true, 1);
  ear.in.commit();
  ear.desk.end();
  EXPECT_EQ(ear.log.back(), "turn 今天天气怎么样");
}

}  // namespace
}  // namespace predgen
