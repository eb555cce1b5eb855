#include "hear/transcripts/stdin_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/error.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/pipe.h"

namespace predgen {
namespace {

using Format = StdinSource::Format;

TEST(StdinSource, JsonLinesArriveOneByOne) {
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kAuto, clock, {});
  EXPECT_FALSE(source.latest(clock.now()));
  input.send("{\"text\": \"a\", \"ti");
  input.send("me\": 99}\n");
  const auto first = source.wait_newer(0, clock);
  EXPECT_EQ(first->text, "a");
  EXPECT_FALSE(first->is_final);
  EXPECT_LE(first->time, clock.now());  // when it arrived, whatever the line says
  input.send("{\"text\": \"a b\", \"final\": true}\n");
  const auto final = source.wait_newer(first->revision, clock);
  EXPECT_TRUE(final->is_final);
  EXPECT_GT(final->revision, first->revision);
  EXPECT_FALSE(source.latest(clock.now()));  // the turn is over
  input.send("{\"text\": \"next\"}\n");
  EXPECT_EQ(source.wait_newer(0, clock)->text, "next");
}

TEST(StdinSource, EndOfInputMakesTheLastTextFinal) {
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kJsonLines, clock, {});
  input.send("{\"text\": \"half a quest\"}\n");
  const auto partial = source.wait_newer(0, clock);
  EXPECT_FALSE(partial->is_final);
  input.end();
  const auto final = source.wait_newer(partial->revision, clock);
  ASSERT_TRUE(final);
  EXPECT_EQ(final->text, "half a quest");
  EXPECT_TRUE(final->is_final);
  EXPECT_FALSE(source.wait_newer(0, clock));
}

TEST(StdinSource, PlainLinesAreTurns) {
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kAuto, clock, {});
  input.send("\n  hello there \r\nand {this}\nlast without end");
  input.end();
  for (const char* text : {"hello there", "and {this}", "last without end"}) {
    const auto turn = source.wait_newer(0, clock);
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->text, text);
    EXPECT_TRUE(turn->is_final);
  }
  EXPECT_FALSE(source.wait_newer(0, clock));
}

TEST(StdinSource, MalformedLineIsNamed) {
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kAuto, clock, {});
  input.send("{\"text\": \"fine\", \"final\": true}\n\n{\"text\": 3}\n");
  EXPECT_EQ(source.wait_newer(0, clock)->text, "fine");
  expect_user_error([&] { source.wait_newer(0, clock); }, {"line 3", "text"});
}

/// What nobody will ask for any more is not kept, and no more is read than is asked for soon.
TEST(StdinSource, HoldsLittleOfALongInput) {
  alarm(60);
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kJsonLines, clock, {});
  for (int i = 0; i < 2000; ++i) input.send("{\"text\": \"a\"}\n");
  input.send("{\"text\": \"b\"}\n");
  std::optional<Transcript> heard;
  do {
    heard = source.wait_newer(heard ? heard->revision : 0, clock);
  } while (heard->text != "b");
  EXPECT_EQ(source.num_waiting(), 1u);
  for (int i = 0; i < 2000; ++i) input.send("{\"text\": \"c\", \"final\": true}\n");
  for (int i = 0; i < 2000; ++i) {
    EXPECT_LE(source.num_waiting(), 300u);
    heard = source.wait_newer(heard->revision, clock);
    ASSERT_EQ(heard->text, "c");
  }
  alarm(0);
}

TEST(StdinSource, TurnsAreNotEndless) {
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kJsonLines, clock, {});
  const std::string text(kMaxTurnBytes, 'a');
  input.send(R"({"text": ")" + text + R"(", "final": true})" + "\n");
  input.send(R"({"text": "b)" + text + "\"}\n");
  EXPECT_EQ(source.wait_newer(0, clock)->text, text);
  expect_user_error([&] { source.wait_newer(0, clock); }, {"line 2", "65536 bytes"});
}

TEST(StdinSource, TakesMessagesOfSpeechServicesAsTheyCome) {
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kJsonLines, clock, {});
  input.send("{\"text\": \"FIND ME\", \"segment\": 0, \"is_final\": true, \"is_eof\": false}\n");
  const auto first = source.wait_newer(0, clock);
  EXPECT_EQ(first->text, "FIND ME");
  EXPECT_TRUE(first->is_final);
  input.send("{\"text\": \"\", \"segment\": 1, \"is_final\": true, \"is_eof\": true}\nDone!\n");
  input.send("{\"text\": \"own\", \"final\": true}\n{\"type\": \"Error\"}\n");
  EXPECT_EQ(source.wait_newer(first->revision, clock)->text, "own");
  expect_user_error([&] { source.wait_newer(99, clock); }, {"line 5", "AssemblyAI"});
}

TEST(StdinSource, WhatWasNoSpeechIsNoTurnAtTheEnd) {
  Pipe input;
  SystemClock clock{std::stop_token()};
  StdinSource source(input.out(), Format::kJsonLines, clock, {});
  input.send("{\"text\": \"uh\"}\n{\"text\": \"\"}\n");
  input.end();
  std::optional<Transcript> heard;
  while (const auto newer = source.wait_newer(heard ? heard->revision : 0, clock)) heard = newer;
  EXPECT_EQ(heard->text, "");
  EXPECT_FALSE(heard->is_final);
}

TEST(StdinSource, EndsWhileNothingComes) {
  alarm(60);  // ends a test that hangs
  Pipe input;
  SystemClock clock{std::stop_token()};
  { StdinSource source(input.out(), Format::kAuto, clock, {}); }
  alarm(0);
}

TEST(StdinSource, AStopEndsTheWaitForALine) {
  alarm(60);
  Pipe input;
  std::stop_source stop;
  SystemClock clock(stop.get_token());
  StdinSource source(input.out(), Format::kAuto, clock, stop.get_token());
  EXPECT_FALSE(source.latest(clock.now()));
  const std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_THROW(source.wait_newer(0, clock), Interrupted);
  EXPECT_THROW(source.latest(clock.now()), Interrupted);
  alarm(0);
}

}  // namespace
}  // namespace predgen
