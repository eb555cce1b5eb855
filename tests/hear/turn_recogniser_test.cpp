#include "hear/turn_recogniser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "tests/fakes/manual_clock.h"
#include "tests/fakes/recogniser_desk.h"

namespace predgen {
namespace {

using testing::Contains;
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

TEST(TurnRecogniser, WhatWasHeardBeforeAFailureIsATurn) {
  for (const bool is_slow : {true, false}) {
    Ear ear(/*detects=*/true);
    ear.in.add(tone(1000));
    ear.desk.hear("find me");
    if (is_slow) {
      ear.desk.is_full = true;
      ear.in.add(tone(20));
    } else {
      ear.desk.handler->on_failure("has gone away");
    }
    EXPECT_THAT(ear.log, ElementsAre("speech at 1000", "words find me", "turn find me", "lost"));
    EXPECT_EQ(ear.turns.at(0).number, ear.begun.at(0));
  }
  Ear ear;
  ear.in.add(tone(1000));
  ear.in.commit();
  ear.desk.hear("find");
  ear.in.add(tone(1000));
  ear.desk.handler->on_failure("has gone away");
  EXPECT_THAT(ear.log, ElementsAre("words find", "turn find", "lost"));
  EXPECT_TRUE(ear.turns.at(0).was_committed);
  Ear full;  // which is noticed by the commit itself
  full.in.add(tone(1000));
  full.desk.hear("find");
  full.desk.is_full = true;
  full.in.commit();
  EXPECT_THAT(full.log, ElementsAre("words find", "turn find", "lost"));
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

TEST(TurnRecogniser, AfterAFailurePausesAreCountedFromTheVoiceAsBefore) {
  Ear ear(/*detects=*/true);
  ear.desk.is_full = true;
  ear.in.add(tone(100));
  ear.desk.is_full = false;
  ear.in.add(tone(1900));
  ear.clock.set(2);
  ear.in.add(tone(100));
  ++ear.desk.utterance;
  ear.in.add(tone(1000));
  ear.desk.hear_voice("find me",
                      {.is_active = false, .since = 0, .until = 16000, .is_in_words = true});
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.in.add(tone(500));
  EXPECT_THAT(ear.turns, SizeIs(1));
}

TEST(TurnRecogniser, WordsWithoutEndAreLost) {
  Ear ear(/*detects=*/true);
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

/// Voice from 100 ms on, up to `until` ms of the utterance.
HeardVoice voice(int64_t until, bool is_active, std::optional<double> end = std::nullopt) {
  return {.is_active = is_active,
          .since = 1600,
          .until = until * kRecogniserRate / 1000,
          .is_in_words = !is_active,
          .end = end};
}

const EndOfTurn kEstimated{.is_detected = true, .waits = EndWaits{}};
const EndOfTurn kByWords{.is_detected = true, .waits = EndWaits{}, .by_words = true};

TEST(TurnRecogniser, WhereTheVoiceIsKnownAPauseIsCountedFromItsLastSample) {
  Ear ear(/*detects=*/true);
  ear.in.add(tone(1000));
  ear.desk.hear_voice("find me", voice(1000, true));
  ear.in.add(tone(900));
  EXPECT_THAT(ear.turns, IsEmpty());  // somebody is speaking
  ear.desk.hear_voice("find me a hotel.", voice(1500, false));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.in.add(tone(99));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.in.add(tone(1));
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_EQ(ear.turns[0].text, "find me a hotel.");
  EXPECT_EQ(ear.turns[0].stopped_at, 2000);
}

TEST(TurnRecogniser, WordsWithAMarkEndSoonerThanThoseThatTrailOff) {
  for (const auto& [text, is_soon] : {std::pair{"find me a hotel?", true},
                                      {"find me a hotel", false},
                                      {"find me a hotel...", false},
                                      {"find me a hotel\u2026", false}}) {
    Ear ear(/*detects=*/true);
    ear.in.set_end(kByWords);
    ear.in.add(tone(1000));
    ear.desk.hear_voice(text, voice(1000, false, 1.0));
    ear.in.expect_end("find me a hotel", 0.99);
    ear.in.add(tone(210));
    EXPECT_THAT(ear.turns, SizeIs(is_soon ? 1 : 0)) << text;
    ear.in.add(tone(100));
    EXPECT_THAT(ear.turns, SizeIs(1)) << text;
  }
}

TEST(TurnRecogniser, SoundThatTheRecogniserHasNotHeardYetIsNoPause) {
  Ear ear(/*detects=*/true);
  ear.in.add(tone(1000));
  HeardVoice pause = voice(850, false);
  pause.heard = 16000;
  ear.desk.hear_voice("find me,", pause);
  ear.in.add(tone(1000));  // at once, from a network that had stopped
  EXPECT_THAT(ear.turns, IsEmpty());
  EXPECT_THAT(ear.desk.log, IsEmpty());
  ear.desk.hear_voice("find me, a hotel", voice(2000, true));
  ear.in.add(tone(600));
  pause = voice(2000, false);
  pause.heard = 2 * 16000 + 8000;
  ear.desk.hear_voice("find me, a hotel", pause);
  EXPECT_THAT(ear.turns, SizeIs(1));
}

TEST(TurnRecogniser, WhatTheRecogniserStillHearsOfATurnThatIsOverIsNotTheNextOnes) {
  Ear ear(/*detects=*/true);
  ear.in.add(tone(1000));
  ear.desk.hear_voice("find me a hotel.", voice(400, false));
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_THAT(ear.desk.log, ElementsAre("drop 0"));
  ear.desk.hear_voice("find me a hotel. Please", voice(1000, true));
  EXPECT_THAT(ear.log,
              ElementsAre("speech at 1000", "words find me a hotel.", "turn find me a hotel."));
  ++ear.desk.utterance;
  ear.in.add(tone(1000));
  ear.desk.hear_voice("please", voice(300, false));
  ASSERT_THAT(ear.turns, SizeIs(2));  // by the samples of its own utterance
  EXPECT_EQ(ear.turns[1].text, "please");
}

TEST(TurnRecogniser, TheNextTurnBeginsWithTheSoundBehindTheVoice) {
  Ear ear;
  ear.in.set_end({.is_detected = true, .silence_ms = 300});
  ear.in.set_on_voice([&](const UserVoice& of) {
    EXPECT_NEAR(static_cast<double>(of.since_ms), 1000, 5);
    ear.log.push_back(of.is_active ? "voice" : "pause");
  });
  ear.in.add(tone(1000));
  ear.desk.hear_voice("find me", voice(700, false));
  ASSERT_THAT(ear.turns, SizeIs(1));
  const std::vector<float> first = std::exchange(ear.desk.samples, {});
  ear.in.add(tone(20, 1000 * 24));
  const std::span<const float> behind = std::span(first).subspan(700 * 16);
  ASSERT_GT(ear.desk.samples.size(), behind.size());
  EXPECT_TRUE(std::ranges::equal(behind, std::span(ear.desk.samples).first(behind.size())));
  ++ear.desk.utterance;
  ear.in.add(tone(980, 1020 * 24));
  ear.desk.hear_voice("a", {.is_active = true, .since = 300 * 16, .until = 400 * 16});
  EXPECT_EQ(ear.log.back(), "words a");
  EXPECT_THAT(ear.log, Contains("voice"));
  ear.desk.hear_voice("a hotel", {.since = 300 * 16, .until = 500 * 16, .is_in_words = true});
  EXPECT_EQ(ear.turns.back().text, "a hotel");
}

TEST(TurnRecogniser, OfALongPauseTheNextTurnHasOnlyTheEnd) {
  Ear ear(/*detects=*/true);
  ear.in.add(tone(3000));
  ear.desk.hear_voice("find me", voice(1000, false));
  ear.desk.samples.clear();
  ear.in.add(tone(20, 3000 * 24));
  EXPECT_NEAR(static_cast<double>(ear.desk.samples.size()), 520 * 16, 100);
}

TEST(TurnRecogniser, APauseIsWaitedForByHowLikelyItEndsTheTurn) {
  const auto quiet_until_end = [](std::optional<double> sound, std::optional<double> words) {
    Ear ear;
    ear.in.set_end(kByWords);
    ear.in.add(tone(1000));
    ear.desk.hear_voice("find me", voice(1000, false, sound));
    if (words) ear.in.expect_end("find me", *words);
    ear.in.expect_end("find", 1);  // of other words
    if (words) ear.in.expect_end("find me", *words);
    int64_t quiet = 0;
    for (; ear.turns.empty() && quiet < 2000; quiet += 10) ear.in.add(tone(10));
    return quiet;
  };
  EXPECT_EQ(quiet_until_end({}, {}), 700);
  EXPECT_EQ(quiet_until_end(1.0, {}), 510);
  EXPECT_EQ(quiet_until_end(1.0, 0.99), 300);
  EXPECT_EQ(quiet_until_end(0.0, 0.01), 1200);
}

TEST(TurnRecogniser, WhatDoesNotCountIsLeftOut) {
  const auto quiet_until_end = [](bool by_sound, bool by_words) {
    Ear ear;
    EndOfTurn end = kEstimated;
    end.by_sound = by_sound;
    end.by_words = by_words;
    ear.in.set_end(end);
    ear.in.add(tone(1000));
    ear.desk.hear_voice("find me", voice(1000, false, 1.0));
    ear.in.expect_end("Find me.", 0.99);
    int64_t quiet = 0;
    for (; ear.turns.empty() && quiet < 2000; quiet += 10) ear.in.add(tone(10));
    return quiet;
  };
  EXPECT_EQ(quiet_until_end(false, false), 700);
  EXPECT_EQ(quiet_until_end(true, false), 510);
  EXPECT_EQ(quiet_until_end(true, true), 300);
  EXPECT_LT(quiet_until_end(false, true), 420);
}

TEST(TurnRecogniser, WhatTheWordsSayIsAwaitedForAWhile) {
  Ear ear;
  ear.in.set_end(kByWords);
  ear.in.add(tone(1700));
  ear.desk.hear_voice("find me", voice(1000, false, 1.0));  // the pause alone would end it
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.in.expect_end("find me", 0.5);
  EXPECT_THAT(ear.turns, SizeIs(1));
  ear.in.add(tone(500));
  ++ear.desk.utterance;
  ear.desk.hear_voice("a hotel", voice(500, false, 1.0));
  ear.in.add(tone(140));
  EXPECT_THAT(ear.turns, SizeIs(1));
  ear.in.add(tone(10));
  EXPECT_THAT(ear.turns, SizeIs(2));
}

TEST(TurnRecogniser, APauseThatIsLongEnoughWhateverTheWordsSayEndsATurnWithoutMoreSound) {
  Ear ear;
  ear.in.set_end(kByWords);
  ear.in.add(tone(3000));  // all there is, sent at once
  ear.desk.hear_voice("find me", voice(1000, false, 0.0));
  EXPECT_THAT(ear.turns, SizeIs(1));
}

TEST(TurnRecogniser, WhatWordsSayIsRememberedUntilTheTurnIsOver) {
  Ear ear;
  ear.in.set_end(kByWords);
  ear.in.add(tone(1300));
  ear.in.expect_end("What is it?", 0.99);
  ear.in.expect_end("what is it now", 0.01);
  ear.desk.hear_voice("what is it", voice(1000, false));  // "now" was taken back
  EXPECT_THAT(ear.turns, SizeIs(1));
  ++ear.desk.utterance;
  ear.in.add(tone(1300));
  ear.desk.hear_voice("what is it", voice(1000, false));  // in another turn it may say more
  EXPECT_THAT(ear.turns, SizeIs(1));
}

TEST(TurnRecogniser, ATurnHasWordsAndAllOfThem) {
  Ear ear;
  ear.in.set_end(kEstimated);
  ear.in.add(tone(1000));
  ear.desk.hear_voice("", voice(400, false));  // a cough
  ear.in.add(tone(2000));
  EXPECT_THAT(ear.turns, IsEmpty());
  HeardVoice behind = voice(3000, false);
  behind.is_in_words = false;
  ear.desk.hear_voice("find", behind);
  ear.in.add(tone(2000));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.desk.hear_voice("find me", voice(3000, false));
  EXPECT_EQ(ear.turns.at(0).text, "find me");
}

TEST(TurnRecogniser, TheLanguageModelMayEndATurnInAPause) {
  Ear ear;
  ear.in.set_end(kByWords);
  ear.in.add(tone(1300));
  ear.desk.hear_voice("find me a hotel", voice(1000, false));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.in.expect_end("find me a hotel", 0.99);
  EXPECT_THAT(ear.turns, SizeIs(1));
}

TEST(TurnRecogniser, TheVoiceIsToldWithWordsOrWithout) {
  Ear ear(/*detects=*/true);
  ear.in.set_on_voice([&](const UserVoice& of) {
    ear.log.push_back((of.is_active ? "voice " : "pause ") + std::to_string(of.since_ms) + "-" +
                      std::to_string(of.until_ms));
  });
  ear.in.add(tone(1000));
  ear.in.clear();
  ++ear.desk.utterance;
  ear.in.add(tone(1000));
  ear.desk.hear_voice("", voice(200, true));
  ear.desk.hear_voice("", voice(300, true));
  ear.desk.hear_voice("", voice(350, false));
  ear.desk.hear_voice("", voice(500, true));
  ear.desk.handler->on_failure("has ended");
  EXPECT_THAT(ear.log, ElementsAre("voice 1100-1200", "pause 1100-1350", "voice 1100-1500",
                                   "pause 1100-1500", "lost"));
}

TEST(TurnRecogniser, APauseIsToldOnceWithAllItsWords) {
  Ear ear;
  ear.in.set_end({.is_detected = true, .waits = EndWaits{.shortest_ms = 500, .longest_ms = 500}});
  ear.in.set_on_pause([&](const std::string& words) { ear.log.push_back("pause " + words); });
  const auto told = [&ear] {
    std::vector<std::string> pauses;
    for (const std::string& line : std::exchange(ear.log, {})) {
      if (line.starts_with("pause")) pauses.push_back(line);
    }
    return pauses;
  };
  ear.in.add(tone(1000));
  ear.desk.hear_voice("find me", voice(1000, true));
  ear.in.add(tone(900));
  EXPECT_THAT(told(), IsEmpty());  // somebody is speaking
  HeardVoice behind = voice(1700, false);
  behind.is_in_words = false;
  ear.desk.hear_voice("find me", behind);
  EXPECT_THAT(told(), IsEmpty());  // there are more words than these
  ear.desk.hear_voice("find me a hotel.", voice(1800, false));
  ear.in.add(tone(99));
  EXPECT_THAT(told(), IsEmpty());  // not long enough
  ear.in.add(tone(1));
  EXPECT_THAT(told(), ElementsAre("pause find me a hotel."));
  ear.in.add(tone(100));
  EXPECT_THAT(told(), IsEmpty());  // once
  ear.desk.hear_voice("find me a hotel in", voice(2100, true));
  ear.in.add(tone(300));
  ear.desk.hear_voice("find me a hotel in Rome.", voice(2100, false));
  EXPECT_THAT(told(), ElementsAre("pause find me a hotel in Rome."));
  ear.in.add(tone(200));
  EXPECT_THAT(ear.log, ElementsAre("turn find me a hotel in Rome."));
}

TEST(TurnRecogniser, WhereTheVoiceIsNotKnownTheRecogniserTellsPauses) {
  Ear ear;
  ear.in.set_end({.is_detected = true, .silence_ms = 500});
  ear.in.set_on_pause([&](const std::string& words) { ear.log.push_back("pause " + words); });
  ear.in.add(tone(300));
  ear.desk.hear("find me");
  ear.desk.hear("find me a hotel", /*is_over=*/true);
  EXPECT_THAT(ear.log, ElementsAre("speech at 300", "words find me", "words find me a hotel",
                                   "pause find me a hotel"));
}

TEST(TurnRecogniser, SoundOfAnyRateIsHeard) {
  for (const int rate : {8000, 11025, 44100, 48000}) {
    Ear ear;
    TurnRecogniser in(ear.desk.make, rate, ear.clock, ear);
    in.set_end(kEstimated);
    in.add(std::vector<float>(static_cast<size_t>(rate)));
    ear.desk.hear_voice("find me", voice(400, false, 1.0));
    ASSERT_THAT(ear.turns, SizeIs(1)) << rate;
    EXPECT_EQ(ear.turns[0].stopped_at, 1000);
    EXPECT_NEAR(static_cast<double>(ear.desk.samples.size()), kRecogniserRate, 100);
  }
}

}  // namespace
}  // namespace predgen
