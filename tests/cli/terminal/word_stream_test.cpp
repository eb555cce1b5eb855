#include "cli/terminal/word_stream.h"

#include <gtest/gtest.h>

namespace predgen::cli {
namespace {

TEST(WordStream, ALineEndsBetweenWords) {
  WordStream stream(10);
  EXPECT_EQ(stream.push("Crepes are"), "Crepes ");
  EXPECT_EQ(stream.push(" a classic"), "are\na ") << "the last word may not be whole yet";
  EXPECT_EQ(stream.push("s. One\ntwo"), "\nclassics.\nOne\n");
  EXPECT_EQ(stream.finish(), "two");
  EXPECT_EQ(stream.push("next"), "");
  EXPECT_EQ(stream.finish(), "next");
}

TEST(WordStream, ARowIsNotBrokenTwice) {
  WordStream stream(8);
  EXPECT_EQ(stream.push("12345678 "), "12345678") << "a blank at the edge would begin a row";
  EXPECT_EQ(stream.push("9 "), "\n9 ");
  EXPECT_EQ(stream.push("123456789012 "), "\n12345678\n9012 ");
}

TEST(WordStream, WhatHasNoBlanksComesAtOnce) {
  WordStream stream(8);
  EXPECT_EQ(stream.push("你好吗?"), "你好吗");
  EXPECT_EQ(stream.push("我很好。"), "\n?我很好");
  EXPECT_EQ(stream.finish(), "\n。");
}

TEST(WordStream, ATerminalIsNotControlled) {
  EXPECT_EQ(WordStream(80).push("a\033[2J "), "a [2J ");
  EXPECT_EQ(WordStream(0).push("a\033[2J"), "a\033[2J") << "a file gets what was said";
}

TEST(WordStream, AFileIsNoTerminal) { EXPECT_EQ(terminal_columns(-1), 0); }

}  // namespace
}  // namespace predgen::cli
