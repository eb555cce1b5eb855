#include "serve/openai/answer_loop.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace predgen::serve {
namespace {

/// `opening`, and then a block of `period` tokens until there are `length` of it.
TokenIds looping(TokenId opening, TokenId period, TokenId length) {
  TokenIds answer;
  for (TokenId i = 0; i < opening; ++i) answer.push_back(1000 + i);
  for (TokenId i = 0; i < length; ++i) answer.push_back(i % period);
  return answer;
}

TEST(EndsInLoop, FourTimesTheSameTokens) {
  for (const TokenId period : {1, 3, 12, 13, 64}) {
    const TokenId needed = std::max<TokenId>(4 * period, 48);
    EXPECT_TRUE(ends_in_loop(looping(7, period, needed))) << period;
    EXPECT_FALSE(ends_in_loop(looping(7, period, needed - 1))) << period;
  }
  EXPECT_FALSE(ends_in_loop(looping(0, 65, 300)));
  EXPECT_FALSE(ends_in_loop({}));
}

TEST(EndsInLoop, WhatWentOnIsNoLoop) {
  TokenIds answer = looping(0, 5, 100);
  answer.push_back(2000);
  EXPECT_FALSE(ends_in_loop(answer));
  TokenIds table;  // rows alike but for one token
  for (TokenId row = 0; row < 30; ++row) {
    for (TokenId cell = 0; cell < 10; ++cell) table.push_back(cell == 9 ? 100 + row : cell);
  }
  EXPECT_FALSE(ends_in_loop(table));
}

}  // namespace
}  // namespace predgen::serve
