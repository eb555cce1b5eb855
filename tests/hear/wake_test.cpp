#include "hear/wake.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

std::string behind(const WakePhrase& phrase, const std::string& words) {
  const auto end = phrase.end_in(words);
  return end ? words.substr(*end) : "no";
}

TEST(WakePhrase, IsFoundHoweverItIsWritten) {
  const WakePhrase jarvis("Hey Jarvis");
  EXPECT_EQ(behind(jarvis, "Hey, Jarvis! What time is it?"), " What time is it?");
  EXPECT_EQ(behind(jarvis, "hey jar vis what time is it"), " what time is it");
  EXPECT_EQ(behind(jarvis, "Heyjarvis, stop"), " stop");
  EXPECT_EQ(behind(jarvis, "hay jarvis"), "") << "a letter of nine may differ";
  EXPECT_EQ(behind(jarvis, "He said hey jarvis. Hey Jarvis, go on."), " go on.") << "the last time";
  for (const char* other : {"", "jarvis", "hey travis", "hey there", "a journey", "hey"}) {
    EXPECT_EQ(behind(jarvis, other), "no") << other;
  }
  const WakePhrase computer("computer");
  EXPECT_EQ(behind(computer, "the computer, lights off"), " lights off");
  EXPECT_EQ(behind(computer, "the commuter is late"), " is late") << "as near as a recogniser gets";
  EXPECT_EQ(behind(computer, "it is comfortable"), "no");
}

TEST(WakePhrase, MustNotBeInEverythingThatIsSaid) {
  expect_user_error([] { WakePhrase("hey"); }, {"'hey'", "fewer than 4 letters"});
  expect_user_error([] { WakePhrase("?!"); }, {"fewer than 4 letters"});
}

constexpr Seconds after(double seconds) { return Seconds(seconds); }

TEST(Wake, WordsCountBehindThePhraseOnly) {
  Wake wake({.phrase = "hey jarvis"});
  EXPECT_FALSE(wake.on_voice(after(1), true));
  EXPECT_EQ(wake.on_words(after(1), "it is late"), "");
  EXPECT_EQ(wake.on_words(after(2), "it is late hey jarvis what"), "what");
  EXPECT_EQ(wake.skipped(), "it is late hey jarvis");
  EXPECT_EQ(wake.on_words(after(2), "it is late hey travis"), "") << "it was taken back";
  EXPECT_EQ(wake.on_end(after(3), "it is late, hey jarvis, what time is it?"), "what time is it?");
}

TEST(Wake, WhatWasSaidToOthersWakesNothing) {
  Wake wake({.phrase = "hey jarvis"});
  EXPECT_EQ(wake.on_end(after(3), "turn it off"), "");
  EXPECT_FALSE(wake.is_awake(after(3)));
  EXPECT_EQ(wake.on_words(after(4), "turn it off"), "");
}

TEST(Wake, AfterThePhraseAloneAndAfterAnAnswerItIsNotNeededForAWhile) {
  Wake wake({.phrase = "hey jarvis", .follow_up = after(8)});
  EXPECT_EQ(wake.on_end(after(10), "Hey Jarvis."), "");
  EXPECT_TRUE(wake.is_awake(after(17.9)));
  EXPECT_TRUE(wake.on_voice(after(17.9), true));
  EXPECT_FALSE(wake.is_awake(after(18.1)));
  EXPECT_EQ(wake.on_words(after(18.5), "what time"), "what time") << "it was begun in time";
  EXPECT_EQ(wake.on_end(after(19), "what time is it"), "what time is it");
  wake.set_answering(after(19), true);
  EXPECT_EQ(wake.on_words(after(30), "no stop"), "no stop") << "over the answer";
  EXPECT_EQ(wake.on_end(after(30), ""), "");
  wake.set_answering(after(31), false);
  EXPECT_TRUE(wake.is_awake(after(38.9)));
  EXPECT_EQ(wake.on_end(after(38), "and hey jarvis tomorrow"), "tomorrow");
  EXPECT_FALSE(wake.is_awake(after(46.1)));
  EXPECT_EQ(wake.on_words(after(47), "so what"), "");
  wake.set_answering(after(50), false);
  EXPECT_FALSE(wake.is_awake(after(50))) << "there was no answer";
}

TEST(Wake, ANoiseWhileItIsAwakeBeginsNoTurn) {
  Wake wake({.phrase = "hey jarvis"});
  wake.set_answering(after(1), true);
  wake.set_answering(after(2), false);
  EXPECT_TRUE(wake.on_voice(after(3), true)) << "a cough";
  wake.on_voice(after(3.5), false);
  EXPECT_FALSE(wake.on_voice(after(60), true));
  EXPECT_EQ(wake.on_words(after(61), "shall we go"), "");
}

TEST(Wake, LettersAreNotBytes) {
  EXPECT_THROW(WakePhrase("\u0434\u0430"), UserError) << "two letters";
  const WakePhrase hello("\u043f\u0440\u0438\u0432\u0435\u0442");
  EXPECT_TRUE(hello.end_in("\u043f\u0440\u0438\u0432\u0435\u0434"));
  EXPECT_FALSE(hello.end_in("\u043f\u0440\u0438\u0432\u0438\u0434")) << "two of six differ";
}

}  // namespace
}  // namespace predgen
