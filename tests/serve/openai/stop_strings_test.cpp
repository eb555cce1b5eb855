#include "serve/openai/stop_strings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"

namespace predgen::serve {
namespace {

TEST(StopStrings, HoldsBackWhatMayBeTheBeginningOfOne) {
  StopStrings stops({"END", "\n\n"});
  EXPECT_EQ(stops.push("a E"), "a ");
  EXPECT_EQ(stops.push("N"), "");
  EXPECT_EQ(stops.push("A\n"), "ENA");
  EXPECT_EQ(stops.finish(), "\n");
  EXPECT_FALSE(stops.is_found());
}

TEST(StopStrings, CutsBeforeTheFirstOne) {
  StopStrings stops({"END", "x"});
  EXPECT_EQ(stops.push("a EN"), "a ");
  EXPECT_EQ(stops.push("D x"), "");
  EXPECT_TRUE(stops.is_found());
  EXPECT_EQ(stops.push("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, WithoutAnyTheTextPasses) {
  StopStrings stops({});
  EXPECT_EQ(stops.push("abc"), "abc");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, HowTheTextComesDoesNotMatter) {
  Random random(1, "stops");
  const auto letters = [&](uint64_t count) {
    std::string text;
    while (count-- > 0) text += static_cast<char>('a' + random.below(2));
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::vector<std::string> strings{letters(1 + random.below(4)),
                                           letters(1 + random.below(5))};
    const std::string text = letters(random.below(12));
    constexpr size_t kNone = std::string::npos;
    std::pair<size_t, size_t> first{kNone, kNone};  // end and begin
    for (const std::string& stop : strings) {
      const size_t begin = text.find(stop);
      if (begin != kNone) first = std::min(first, {begin + stop.size(), begin});
    }
    StopStrings stops(strings);
    std::string given;
    for (size_t at = 0; at < text.size();) {
      const size_t count = 1 + random.below(3);
      given += stops.push(std::string_view(text).substr(at, count));
      at += count;
    }
    given += stops.finish();
    EXPECT_EQ(given, text.substr(0, first.second))
        << text << ": " << strings[0] << ", " << strings[1];
    EXPECT_EQ(stops.is_found(), first.second != kNone);
  }
}

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
