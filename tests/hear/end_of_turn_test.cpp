#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hear/turn_taking.h"

namespace predgen {
namespace {

/// The pause in ms after which a turn ends that sounds so and has such words.
int64_t pause_until_end(const EndOfTurn& end, std::optional<double> sound,
                        std::optional<double> words) {
  int64_t pause = 0;
  while (pause < 10'000 && !end.is_reached({.pause_ms = pause, .sound = sound, .words = words})) {
    ++pause;
  }
  return pause;
}

TEST(EndOfTurn, WithoutWaitsAPauseOfOneLengthEndsATurn) {
  const EndOfTurn end{.is_detected = true, .silence_ms = 300};
  EXPECT_EQ(pause_until_end(end, {}, {}), 300);
  EXPECT_EQ(pause_until_end(end, 0.0, 0.0), 300);
  EXPECT_EQ(pause_until_end(end, 1.0, 1.0), 300);
  EXPECT_FALSE(EndOfTurn{}.is_reached({.pause_ms = 100'000}));
  EXPECT_FALSE(EndOfTurn{.waits = EndWaits{}}.is_reached({.pause_ms = 100'000}));
}

TEST(EndOfTurn, AWaitIsBetweenTheTwoOfTheConfiguration) {
  const PauseSigns sure{.sound = 1.0, .words = 1.0, .is_marked = true};
  const PauseSigns unsure{.sound = 0.0, .words = 0.0};
  const PauseSigns between{.words = 1 / (1 + std::exp(1))};  // log-odds of -1
  EXPECT_EQ(end_wait_ms(sure, {}), 200);
  EXPECT_EQ(end_wait_ms(unsure, {}), 1200);
  EXPECT_EQ(end_wait_ms(between, {}), 700);
  EXPECT_EQ(end_wait_ms(between, {.shortest_ms = 0, .longest_ms = 400}), 200);
  EXPECT_EQ(end_wait_ms(between, {.shortest_ms = 500, .longest_ms = 500}), 500);
}

TEST(EndOfTurn, TheShortestWaitIsOnlyForWordsThatEndWithAMark) {
  PauseSigns signs{.sound = 1.0, .words = 1.0};
  EXPECT_EQ(end_wait_ms(signs, {}), 300);
  EXPECT_EQ(end_wait_ms(signs, {.shortest_ms = 800, .longest_ms = 800}), 800);
  signs.is_marked = true;
  EXPECT_EQ(end_wait_ms(signs, {}), 200);
  PauseSigns between{.words = 1 / (1 + std::exp(1))};
  const int64_t unmarked = end_wait_ms(between, {});
  between.is_marked = true;
  EXPECT_LT(end_wait_ms(between, {}), unmarked);
  EXPECT_GT(end_wait_ms(between, {}), 300);
}

TEST(EndOfTurn, SignsShortenOrLengthenTheWait) {
  struct Case {
    std::optional<double> sound, words;
    int64_t pause;
  };
  const EndOfTurn end{.is_detected = true, .waits = EndWaits{}};
  const std::vector<Case> cases{
      {{}, {}, 700},      // nobody knows
      {1.0, {}, 510},     // it sounds finished
      {0.0, {}, 1080},    // it does not
      {{}, 0.99, 300},    // the words are a whole sentence
      {{}, 0.01, 1100},   //
      {1.0, 0.99, 300},   // both are sure
      {0.0, 0.01, 1200},  //
      {0.0, 0.99, 300},   // words count for more
      {1.0, 0.01, 910},   //
      {0.5, 0.5, 595},   {0.0, 0.5, 880},
  };
  for (const Case& one : cases) {
    EXPECT_NEAR(static_cast<double>(pause_until_end(end, one.sound, one.words)),
                static_cast<double>(one.pause), 1)
        << one.sound.value_or(-1) << " " << one.words.value_or(-1);
  }
}

TEST(EndOfTurn, NoSignOfAnEndMakesTheWaitLonger) {
  for (const auto& of : {&PauseSigns::sound, &PauseSigns::words}) {
    for (const double other : {0.1, 0.3, 0.5}) {
      PauseSigns signs{.sound = other, .words = other};
      int64_t before = 1200;
      for (int i = 0; i <= 10; ++i) {
        signs.*of = i / 10.0;
        const int64_t now = end_wait_ms(signs, {});
        EXPECT_LE(now, before);
        before = now;
      }
      EXPECT_LT(before, 1200);
    }
  }
}

TEST(EndOfTurn, WhatIsNoProbabilityYetIsWaitedForNoLongerThanTheLongestWait) {
  const EndOfTurn end{.is_detected = true,
                      .waits = EndWaits{.shortest_ms = 100, .longest_ms = 800}};
  for (const double sound : {0.0, 0.3, 0.7, 1.0}) {
    for (const double words : {0.0, 0.3, 0.7, 1.0}) {
      const int64_t pause = pause_until_end(end, sound, words);
      EXPECT_GE(pause, 100);
      EXPECT_LE(pause, 800);
    }
  }
}

}  // namespace
}  // namespace predgen
