#include "hear/ears_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_ears.h"
#include "tests/fakes/told_lines.h"
#include "tests/fakes/waiting.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Listener : EarsListener, ToldLines {
  void on_heard(uint32_t stream, const RecognisedSegment& segment) override {
    add(std::to_string(stream) + " " + segment.text);
  }
  void on_done(uint32_t stream) override { add(std::to_string(stream) + " done"); }
  void on_lost(const std::string& why, bool is_starting, uint32_t) override {
    add(why + (is_starting ? "; starts" : ""));
  }
  void on_started() override { ++num_starts; }
  std::atomic<int> num_starts = 0;
};

const std::vector<float> kSomeSound(512, 0.5f);

TEST(EarsProcess, StreamsAreToldToTheirOwnListeners) {
  FakeEars fake("ready\nawait S\ntext one\nawait S\ntext two\nawait E\ndone\n");
  EarsProcess process(fake.options());
  Listener first, second;
  process.add(first);
  process.add(second);
  const uint32_t one = process.open(first), two = process.open(second);
  EXPECT_NE(one, two);
  EXPECT_TRUE(process.send(one, kSomeSound));
  EXPECT_THAT(first.take(1), ElementsAre("1 one"));
  process.send(two, kSomeSound);
  process.finish(two);
  EXPECT_THAT(second.take(2), ElementsAre("2 two", "2 done"));
  EXPECT_THAT(first.take(0), ElementsAre("1 one"));
  process.remove(first);
  process.remove(second);
}

TEST(EarsProcess, WhatItsModelsAreNotIsTheUsersError) {
  FakeEars fake("fail the recogniser in /x made sherpa-onnx give up\n");
  expect_user_error([&] { EarsProcess{fake.options()}; }, {"/x made sherpa-onnx give up"});
  FakeEars silent("exit 3\n");
  expect_user_error([&] { EarsProcess{silent.options()}; }, {"has ended at once"});
  FakeEars slow("hang\n");
  slow.options().limits.load_seconds = 0.05;
  expect_user_error([&] { EarsProcess{slow.options()}; }, {"has not loaded its models in time"});
  FakeEars other("bytes hello\n");
  expect_user_error([&] { EarsProcess{other.options()}; }, {"has sent what is no result"});
  fake.options().program = "/no/predgen-ears";
  expect_user_error([&] { EarsProcess{fake.options()}; },
                    {"/no/predgen-ears", "-DPREDGEN_SPEECH=ON"});
}

TEST(EarsProcess, AKilledProgramIsStartedAgainAndLaterStreamsAreHeard) {
  FakeEars fake("ready\nawait S\ntext one\n---\nready\nawait S\ntext two\n");
  EarsProcess process(fake.options());
  Listener listener;
  process.add(listener);
  process.send(process.open(listener), kSomeSound);
  listener.take(1);
  kill(process.pid(), SIGKILL);
  EXPECT_THAT(listener.take(2), ElementsAre("1 one", "has ended; starts"));
  process.send(1, kSomeSound);  // nobody's any more
  process.send(process.open(listener), kSomeSound);
  EXPECT_THAT(listener.take(3), ElementsAre("1 one", "has ended; starts", "2 two"));
  EXPECT_EQ(fake.num_starts(), 2);
  EXPECT_EQ(listener.num_starts, 1);
  process.remove(listener);
}

TEST(EarsProcess, OneThatDoesNotAnswerIsStartedAgain) {
  for (const char* const silence : {"mute", "hang"}) {
    FakeEars fake("ready\nawait S\n" + std::string(silence) + "\n---\nready\nawait S\ntext two\n");
    fake.options().limits.answer_seconds = 0.2;
    fake.options().limits.ping_seconds = 0.01;
    EarsProcess process(fake.options());
    Listener listener;
    process.add(listener);
    process.send(process.open(listener), kSomeSound);
    EXPECT_THAT(listener.take(1), ElementsAre("does not answer; starts"));
    process.send(process.open(listener), kSomeSound);
    EXPECT_THAT(listener.take(2), ElementsAre("does not answer; starts", "2 two"));
    process.remove(listener);
  }
}

TEST(EarsProcess, ASlowOneThatAnswersIsWaitedFor) {
  FakeEars fake("ready\nawait S\nawait ?\nawait ?\nawait ?\nawait ?\ntext one\n");
  fake.options().limits.ping_seconds = 0.01;
  EarsProcess process(fake.options());
  Listener listener;
  process.add(listener);
  process.send(process.open(listener), kSomeSound);
  EXPECT_THAT(listener.take(1), ElementsAre("1 one"));
  process.remove(listener);
}

TEST(EarsProcess, OneThatEndsAgainAndAgainIsNotSaidToStart) {
  FakeEars fake("ready\nawait S\nexit 1\n---\nexit 1\n---\nready\nawait S\ntext three\n");
  EarsProcess process(fake.options());
  Listener listener;
  process.add(listener);
  process.send(process.open(listener), kSomeSound);
  EXPECT_THAT(listener.take(2),
              ElementsAre("has ended; starts", StartsWith("has ended at once: ")));
  EXPECT_TRUE(comes_true([&] { return process.pid() != -1 && fake.num_starts() == 3; }));
  process.send(process.open(listener), kSomeSound);
  EXPECT_THAT(listener.take(3).back(), HasSubstr("three"));
  process.remove(listener);
}

TEST(EarsProcess, WaitingSoundIsBounded) {
  FakeEars fake("ready\nhang\n");
  fake.options().limits.waiting_seconds = 2;
  EarsProcess process(fake.options());
  Listener listener;
  process.add(listener);
  const uint32_t stream = process.open(listener);
  EXPECT_FALSE(process.send(stream, std::vector<float>(32'001)));
  // What its socket takes does not wait any more.
  const std::vector<float> second(16'000);
  int count = 0;
  while (count < 1000 && process.send(stream, second)) ++count;
  EXPECT_GE(count, 2);
  EXPECT_LT(count, 1000);
  process.drop(stream);
  EXPECT_TRUE(comes_true([&] { return process.send(process.open(listener), second); }));
  process.remove(listener);
}

TEST(EarsProcess, WaitingSoundOfOthersDoesNotCount) {
  FakeEars fake("ready\nhang\n");
  fake.options().limits.waiting_seconds = 1;
  EarsProcess process(fake.options());
  Listener listener;
  process.add(listener);
  const std::vector<float> second(16'000);
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(process.send(process.open(listener), second));
  process.remove(listener);
}

TEST(EarsProcess, ALongSoundIsSentInParts) {
  FakeEars fake("ready\nawait S\nawait S\nawait S\ntext three\n");
  EarsProcess process(fake.options());
  Listener listener;
  process.add(listener);
  process.send(process.open(listener), std::vector<float>(25 * 16'000));
  process.send(process.open(listener), kSomeSound);
  EXPECT_THAT(listener.take(1), ElementsAre("2 three"));
  process.remove(listener);
}

TEST(EarsProcess, NobodyIsToldOfAStreamThatWasDropped) {
  FakeEars fake("ready\nawait S\ntext one\nawait X\ntext late\nawait S\ntext two\n");
  EarsProcess process(fake.options());
  Listener listener;
  process.add(listener);
  const uint32_t stream = process.open(listener);
  process.send(stream, kSomeSound);
  listener.take(1);
  process.drop(stream);
  process.send(process.open(listener), kSomeSound);
  EXPECT_THAT(listener.take(2), ElementsAre("1 one", "2 two"));
  process.remove(listener);
}

TEST(EarsProcess, NonsenseIsAnEnd) {
  for (const std::string nonsense :
       {"bytes hello", "heard secret", R"(heard {"text": "secret"})", "fail secret\tplan"}) {
    FakeEars fake("ready\nawait S\n" + nonsense + "\n---\nready\n");
    EarsProcess process(fake.options());
    Listener listener;
    process.add(listener);
    process.send(process.open(listener), kSomeSound);
    const std::string why = listener.take(1).at(0);
    EXPECT_THAT(why, HasSubstr("; starts")) << nonsense;
    const bool is_quoted = why.find("secret") != std::string::npos;
    EXPECT_EQ(is_quoted, nonsense.starts_with("fail")) << why;
    process.remove(listener);
  }
}

TEST(EarsProcess, ItEndsWithItsOwner) {
  FakeEars fake("ready\n");
  pid_t pid = -1;
  {
    const EarsProcess process(fake.options());
    pid = process.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace predgen
