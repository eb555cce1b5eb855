#include "text/token_ids.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

const TokenIds kStops{7, 9};

TokenIds without_stop(const TokenIds& answer) {
  const TokenSpan rest = without_stop_token(answer, kStops);
  return {rest.begin(), rest.end()};
}

TEST(StopTokens, AreAnyOfThem) {
  EXPECT_TRUE(is_stop_token(kStops, 7));
  EXPECT_TRUE(is_stop_token(kStops, 9));
  EXPECT_FALSE(is_stop_token(kStops, 8));
  EXPECT_FALSE(is_stop_token({}, 7));
}

TEST(StopTokens, OnlyTheLastOneIsTakenAway) {
  EXPECT_EQ(without_stop({1, 9}), (TokenIds{1}));
  EXPECT_EQ(without_stop({7, 9}), (TokenIds{7}));
  EXPECT_EQ(without_stop({9, 1}), (TokenIds{9, 1}));
  EXPECT_EQ(without_stop({}), TokenIds{});
}

}  // namespace
}  // namespace predgen
