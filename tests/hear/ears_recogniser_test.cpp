#include "hear/ears_recogniser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <utility>

#include "core/error.h"
#include "hear/make_recogniser.h"
#include "hear/turn_recogniser.h"
#include "tests/fakes/fake_ears.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/told_lines.h"
#include "tests/fakes/waiting.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

struct Log : RecogniserHandler, ToldLines {
  void on_segment(int64_t utterance, const RecognisedSegment& segment) override {
    std::string line = fmt::format("{}.{} {}", utterance, segment.number, segment.text);
    if (segment.is_over) line += " |";
    if (segment.voice) line += fmt::format(" until {}", segment.voice->until);
    if (segment.voice && segment.voice->is_active) line += " ..";
    add(line);
  }
  void on_end(int64_t utterance) override { add(std::to_string(utterance) + " ends"); }
  void on_failure(const std::string& why) override { add(why); }
};

struct Ears {
  explicit Ears(const std::string& script) : fake(script) {}
  FakeEars fake;
  Log log;
  std::shared_ptr<EarsProcess> process = std::make_shared<EarsProcess>(fake.options());
  EarsRecogniser recogniser{process, log};
};

const std::vector<float> kSound(512, 0.5f);

TEST(EarsRecogniser, AnUtteranceIsAStream) {
  Ears ears("ready\nawait S\ntext one\nawait E\ndone\nawait S\ntext two\n");
  EXPECT_TRUE(ears.recogniser.add(5, kSound));
  ears.recogniser.finish(5);
  ears.recogniser.add(6, kSound);
  EXPECT_THAT(ears.log.take(3),
              ElementsAre("5.0 one until 100 ..", "5 ends", "6.0 two until 100 .."));
}

TEST(EarsRecogniser, WhatComesOfALaterUtteranceWaitsForTheEndOfTheFirst) {
  Ears ears("ready\nawait E\nawait S\ntext later\nawait E\ndone\nawait J\n");
  ears.recogniser.add(0, kSound);
  ears.recogniser.finish(0);
  ears.recogniser.add(1, kSound);
  ears.recogniser.finish(1);
  EXPECT_TRUE(stays_true(std::chrono::milliseconds(30), [&] { return ears.log.take(0).empty(); }));
}

TEST(EarsRecogniser, WhatIsDroppedIsNotTold) {
  Ears ears("ready\nawait S\ntext one\nawait X\nawait S\ntext two\n");
  ears.recogniser.add(0, kSound);
  ears.log.take(1);
  ears.recogniser.drop(0);
  ears.recogniser.drop(99);
  ears.recogniser.add(1, kSound);
  EXPECT_THAT(ears.log.take(2), ElementsAre("0.0 one until 100 ..", "1.0 two until 100 .."));
}

TEST(EarsRecogniser, AnUtteranceGoesOnAfterTheProgramHasEnded) {
  Ears ears("ready\nawait S\ntext one\n---\nready\nawait S\ntext two\n");
  ears.recogniser.add(0, kSound);
  ears.log.take(1);
  kill(ears.process->pid(), SIGKILL);
  // The words stay. Whether the user goes on speaking is not known before it has started again.
  EXPECT_THAT(ears.log.take(3),
              ElementsAre("0.0 one until 100 ..", "0.0 one | until 100 ..", "0.1  until 512"));
  ears.recogniser.add(0, kSound);
  // In samples and segments of the utterance, not of the second program's stream.
  EXPECT_EQ(ears.log.take(4).back(), "0.1 two until 612 ..");
}

TEST(EarsRecogniser, WhatWasOverIsNotToldTwice) {
  Ears ears(R"(ready
await S
heard {"segment": 4, "text": "one", "over": true}
---
ready
await S
text two
)");
  ears.recogniser.add(0, kSound);
  ears.log.take(1);
  kill(ears.process->pid(), SIGKILL);
  EXPECT_THAT(ears.log.take(2), ElementsAre("0.4 one |", "0.5  |"));
  ears.recogniser.add(0, kSound);
  EXPECT_EQ(ears.log.take(3).back(), "0.6 two until 612 ..");
}

TEST(EarsRecogniser, AnUtteranceThatIsFinishedEndsWithWhatWasHeard) {
  Ears ears("ready\nawait S\ntext one\nawait E\nexit 1\n---\nready\n");
  ears.recogniser.add(0, kSound);
  ears.log.take(1);
  ears.recogniser.finish(0);
  EXPECT_THAT(ears.log.take(3),
              ElementsAre("0.0 one until 100 ..", "0.0 one | until 100 ..", "0 ends"));
}

TEST(EarsRecogniser, OneOfWhichNothingWasHeardIsAFailure) {
  Ears ears("ready\nawait E\nexit 1\n---\nready\nawait S\ntext two\n");
  ears.recogniser.add(0, kSound);
  ears.recogniser.finish(0);
  EXPECT_THAT(ears.log.take(1), ElementsAre("has ended"));
  ears.recogniser.add(1, kSound);
  EXPECT_EQ(ears.log.take(2).back(), "1.0 two until 100 ..");
}

TEST(EarsRecogniser, OneThatDoesNotStartAgainIsAFailure) {
  Ears ears("ready\nawait S\ntext one\nexit 1\n---\nexit 1\n---\nready\nawait S\ntext three\n");
  ears.recogniser.add(0, kSound);
  ears.log.take(2);
  ears.recogniser.add(0, kSound);
  EXPECT_THAT(ears.log.take(3).back(), StartsWith("has ended at once: "));
  ears.recogniser.add(1, kSound);
  EXPECT_EQ(ears.log.take(4).back(), "1.0 three until 100 ..");
}

/// The last turn.
struct Turns : RecognisedTurnHandler {
  void on_speech(int64_t, int64_t) override {}
  void on_words(const std::string&) override {}
  void on_turn(const RecognisedTurn& turn) override {
    const Lock lock(mutex);
    text = turn.text;
  }
  void on_lost(const SoundError& why) override { ADD_FAILURE() << why.what(); }
  std::string last() {
    const Lock lock(mutex);
    return text;
  }
  Mutex mutex;
  std::string text;
};

/// The turn that ends while sound goes on, behind a program that was started again.
std::string heard_by_two(const std::string& script, int64_t silence_ms) {
  FakeEars fake(script);
  const MakeRecogniser make = recognisers_here(fake.options());
  ManualClock clock;
  Turns turns;
  TurnRecogniser in(make, kRecogniserRate, clock, turns);
  in.set_end({.is_detected = true, .silence_ms = silence_ms});
  in.add(kSound);
  EXPECT_TRUE(comes_true([&] { return fake.num_starts() == 2; }));
  EXPECT_TRUE(comes_true([&] {
    in.add(kSound);
    return !turns.last().empty();
  }));
  return turns.last();
}

TEST(EarsRecogniser, ATurnGoesOnWithWhatWasHeardBeforeTheProgramWasKilled) {
  const std::string script = R"(ready
await S
heard {"segment": 0, "text": "find me", "over": false, "voice": {"active": true, "since": 0, "until": 512, "in_words": false}}
exit 1
---
ready
await S
heard {"segment": 0, "text": "a hotel", "over": false, "voice": {"active": false, "since": 0, "until": 512, "in_words": true}}
)";
  EXPECT_EQ(heard_by_two(script, 5000), "find me a hotel");
}

TEST(EarsRecogniser, ATurnThatHadPausedEndsThoughTheProgramWasKilledBeforeItsLastWords) {
  const std::string script = R"(ready
await S
heard {"segment": 0, "text": "find me", "over": false, "voice": {"active": false, "since": 0, "until": 512, "in_words": false}}
exit 1
---
ready
)";
  EXPECT_EQ(heard_by_two(script, 500), "find me");
}

/// Cannot take its first words.
struct Fragile : Log {
  void on_segment(int64_t utterance, const RecognisedSegment& segment) override {
    if (std::exchange(is_broken, false)) throw Error("there is no memory\nleft");
    Log::on_segment(utterance, segment);
  }
  void on_failure(const std::string& why) override {
    Log::on_failure(why);
    predgen::take(std::chrono::milliseconds(20));  // others are heard meanwhile
  }
  bool is_broken = true;
};

TEST(EarsRecogniser, AConversationThatFailsLeavesTheProgramToTheOthers) {
  Ears ears("ready\nawait S\ntext one\nawait X\nawait S\ntext two\nawait S\ntext three\n");
  Fragile log;
  EarsRecogniser fragile(ears.process, log);
  fragile.add(0, kSound);
  EXPECT_THAT(log.take(1), ElementsAre("was heard, but not understood: there is no memory"));
  ears.recogniser.add(0, kSound);
  EXPECT_THAT(ears.log.take(1), ElementsAre("0.0 two until 100 .."));
  fragile.add(1, kSound);
  EXPECT_EQ(log.take(2).back(), "1.0 three until 100 ..");
  EXPECT_EQ(ears.fake.num_starts(), 1);
}

/// Adds sound for another conversation while the program's end is told.
struct Hasty : EarsListener {
  void on_heard(uint32_t, const RecognisedSegment&) override {}
  void on_done(uint32_t) override {}
  void on_lost(const std::string&, bool, uint32_t) override { other->add(0, kSound); }
  void on_started() override {}
  EarsRecogniser* other = nullptr;
};

TEST(EarsRecogniser, WhatBeginsWhileTheProgramsEndIsToldIsHeardByTheNextOne) {
  FakeEars fake("ready\nawait S\nexit 1\n---\nready\nawait S\ntext two\n");
  const auto process = std::make_shared<EarsProcess>(fake.options());
  Log log;
  struct {
    Hasty first;  // is told first: the order is that of addresses
    EarsRecogniser second;
  } listeners{{}, {process, log}};
  listeners.first.other = &listeners.second;
  process->add(listeners.first);
  process->send(process->open(listeners.first), kSound);
  EXPECT_THAT(log.take(1), ElementsAre("0.0 two until 100 .."));
  process->remove(listeners.first);
}

TEST(EarsRecogniser, ConversationsShareAProgram) {
  Ears ears("ready\nawait S\ntext one\nawait S\ntext two\n");
  Log other_log;
  EarsRecogniser other(ears.process, other_log);
  ears.recogniser.add(0, kSound);
  EXPECT_THAT(ears.log.take(1), ElementsAre("0.0 one until 100 .."));
  other.add(0, kSound);
  EXPECT_THAT(other_log.take(1), ElementsAre("0.0 two until 100 .."));
  EXPECT_EQ(ears.fake.num_starts(), 1);
}

}  // namespace
}  // namespace predgen
