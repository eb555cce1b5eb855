#include "runtime/converse/turn_pace.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(AnswerPace, TimesTheFirstPassAndTheTokensBehindIt) {
  AnswerPace pace;
  EXPECT_FALSE(pace.of(1));
  pace.begin(Seconds(1), 4);
  pace.on_tokens(Seconds(1.5), 6, 3);
  EXPECT_FALSE(pace.of(1));  // no token came by itself yet
  pace.on_tokens(Seconds(2), 7, 1);
  pace.on_tokens(Seconds(2.5), 8, 4);
  EXPECT_DOUBLE_EQ(pace.of(10)->count(), 0.5 + 10 * 0.2);
}

TEST(AnswerPace, TokensThatTookNoPassDoNotCount) {
  AnswerPace pace;
  pace.begin(Seconds(0), 0);
  pace.on_tokens(Seconds(0.5), 1, 1);
  pace.on_tokens(Seconds(1), 2, 1);
  const std::optional<Seconds> before = pace.of(8);
  pace.begin(Seconds(5), 2);
  pace.on_tokens(Seconds(5.001), 2, 9);  // a draft that is still right
  EXPECT_EQ(pace.of(8), before);
  pace.on_tokens(Seconds(5.501), 3, 1);
  EXPECT_EQ(pace.of(8), before);
}

TEST(PauseHistory, DraftsWaitWhereTheLastPausesWereLongEnough) {
  PauseHistory pauses;
  EXPECT_FALSE(pauses.can_wait());
  pauses.add(Seconds(0.31), Seconds(0.2));
  EXPECT_TRUE(pauses.can_wait());
  pauses.add(Seconds(0.29), Seconds(0.1));  // shorter than one and a half times the slowest
  EXPECT_FALSE(pauses.can_wait());
  for (int turns = 0; turns < 4; ++turns) pauses.add(Seconds(1), Seconds(0.6));
  EXPECT_TRUE(pauses.can_wait());          // of the last turns
  pauses.add(Seconds(0), Seconds(0.001));  // nobody told of a pause
  EXPECT_FALSE(pauses.can_wait());
}

}  // namespace
}  // namespace predgen
