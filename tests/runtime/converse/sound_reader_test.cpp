#include "runtime/converse/sound_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/playing_sink.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/fakes/told_conversation.h"

namespace predgen {
namespace {

/// Blocks of sound that the test gives.
class GivenAudio : public AudioSource {
 public:
  int sample_rate() const override { return kRecogniserRate; }
  std::span<const float> read() override {
    std::unique_lock lock(mutex_);
    waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !waits_; });
    if (fails_) throw UserError("the microphone was unplugged");
    return block_;
  }

  /// Returns when the block was heard.
  void give(int milliseconds, float value) {
    hand_over(
        std::vector<float>(static_cast<size_t>(milliseconds * kRecogniserRate / 1000), value));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waits_; });
  }
  void end() { hand_over({}); }
  void fail() {
    {
      const std::lock_guard lock(mutex_);
      fails_ = true;
    }
    hand_over({});
  }

 private:
  void hand_over(std::vector<float> block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waits_; });
    block_ = std::move(block);
    waits_ = false;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> block_;
  bool waits_ = false, fails_ = false;
};

/// Speaks to a conversation, whose reader is gone before the sound that it reads.
struct Talk {
  explicit Talk(WhileSpeaking while_speaking = WhileSpeaking::kNotHeard, bool by_words = false,
                const std::function<bool()>& is_held = {})
      : turns({.make_recogniser = desk.make,
               .sample_rate = kRecogniserRate,
               .end = {.is_detected = !is_held,
                       .silence_ms = 500,
                       .waits = by_words ? std::optional(EndWaits()) : std::nullopt,
                       .by_words = by_words},
               .while_speaking = while_speaking,
               .answers = &sink},
              told, clock, stop.get_token()),
        reader(audio, turns, clock, stop.get_token(), is_held) {}
  ~Talk() {
    if (!is_over) audio.end();
  }

  void hear_voice(const std::string& text, bool is_active, int64_t until) {
    desk.handler->on_segment(
        desk.utterance,
        {.text = text,
         .is_over = !is_active,
         .voice =
             HeardVoice{.is_active = is_active, .since = 0, .until = until, .is_in_words = true}});
  }
  /// A whole turn of one second, and the pause behind it.
  void say(const std::string& words) {
    audio.give(1000, 0.5f);
    hear_voice(words, true, 16000);
    hear_voice(words, false, 16000);
    clock.set(clock.now().count() + 0.5);
    audio.give(500, 0.0f);
    ++desk.utterance;
  }
  Transcript next() {
    const auto newest = turns.wait_newer(revision, clock);
    if (!newest) return {.text = "the end"};
    revision = newest->revision;
    return *newest;
  }

  GivenAudio audio;
  RecogniserDesk desk;
  ManualClock clock;
  PlayingSink sink{clock, kRecogniserRate};
  std::stop_source stop;
  ToldConversation told;
  Conversation turns;
  int64_t revision = 0;
  bool is_over = false;
  SoundReader reader;
};

TEST(SoundReader, WordsAreTranscriptsAndAPauseMakesTheLastOneFinal) {
  Talk talk;
  talk.clock.set(11.0);
  talk.audio.give(1000, 0.5f);  // began at 10
  talk.hear_voice("what", true, 12000);
  EXPECT_EQ(talk.next().text, "what");
  talk.clock.set(11.3);
  talk.hear_voice("what is it", true, 16000);
  talk.hear_voice("what is it", false, 16000);
  EXPECT_FALSE(talk.next().is_final);
  talk.clock.set(11.5);
  talk.audio.give(500, 0.0f);
  const Transcript last = talk.next();
  EXPECT_EQ(last.text, "what is it");
  EXPECT_TRUE(last.is_final);
  const SpokenTimes times = talk.turns.times();
  EXPECT_NEAR(times.voice_ended.count(), 11.0, 1e-6);
  EXPECT_NEAR(times.words_known.count(), 11.3, 1e-6);
  EXPECT_NEAR(times.turn_ended.count(), 11.5, 1e-6);
}

TEST(SoundReader, WhoPushesToTalkSaysWhereATurnBeginsAndEnds) {
  std::atomic<bool> is_held = false;
  Talk talk(WhileSpeaking::kNotHeard, /*by_words=*/false, [&] { return is_held.load(); });
  const auto give = [&](int milliseconds, bool holds) {
    is_held = holds;
    talk.audio.give(milliseconds, 0.5f);
  };
  give(500, false);
  EXPECT_TRUE(talk.desk.samples.empty()) << "nobody holds the key";
  give(500, true);
  EXPECT_GT(talk.desk.samples.size(), 7900u);
  talk.desk.hear("what is");
  EXPECT_EQ(talk.next().text, "what is");
  give(500, false);
  EXPECT_LE(talk.desk.samples.size(), 8000u);
  EXPECT_EQ(talk.desk.log, (std::vector<std::string>{"finish 0"}));
  talk.desk.hear("what is it?", true);
  talk.desk.end();
  Transcript turn = talk.next();
  while (!turn.is_final) turn = talk.next();
  EXPECT_EQ(turn.text, "what is it?");
  give(20, true);
  give(500, false);
  EXPECT_EQ(talk.desk.log.back(), "drop 1") << "too short to be a turn";
  EXPECT_EQ(talk.told.lines, (std::vector<std::string>{"nothing heard"}));
  give(500, true);
  give(500, false);
  talk.desk.utterance = 2;
  talk.desk.end();
  EXPECT_EQ(talk.told.lines.size(), 2u) << "no words";
}

TEST(SoundReader, APauseIsATranscriptOfItsOwn) {
  Talk talk;
  talk.audio.give(1000, 0.5f);
  talk.hear_voice("what is it", false, 16000);
  EXPECT_FALSE(talk.next().is_stable);
  talk.audio.give(200, 0.0f);
  const Transcript paused = talk.next();
  EXPECT_EQ(paused.text, "what is it");
  EXPECT_TRUE(paused.is_stable);
}

TEST(SoundReader, OtherWordsAreExpectedFromAPauseOnUntilTheyComeOrItIsTooLate) {
  Talk talk;
  const auto expects = [&] { return talk.turns.expects_words(talk.clock.now()); };
  talk.audio.give(1000, 0.5f);
  talk.hear_voice("what", true, 16000);
  EXPECT_FALSE(expects());
  talk.hear_voice("what", false, 16000);
  EXPECT_TRUE(expects());
  talk.hear_voice("what is", false, 16000);
  EXPECT_FALSE(expects()) << "they are there";
  talk.hear_voice("what is", true, 17000);
  talk.hear_voice("what is", false, 17000);
  EXPECT_TRUE(expects());
  talk.hear_voice("what is", true, 18000);
  EXPECT_FALSE(expects()) << "the voice goes on";
  talk.hear_voice("what is", false, 18000);
  talk.audio.give(400, 0.0f);
  EXPECT_FALSE(expects()) << "the pause has told that they are the same";
  talk.hear_voice("what is", true, 30000);
  talk.hear_voice("what is", false, 30000);
  EXPECT_TRUE(expects());
  talk.clock.set(talk.clock.now().count() + 1);
  EXPECT_FALSE(expects()) << "the recogniser is late";
}

TEST(SoundReader, TheVoiceMakesAnAnswerSofterAndWordsThatStayEndIt) {
  Talk talk(WhileSpeaking::kInterrupts);
  const std::stop_token first = talk.turns.begin_turn();
  talk.say("tell me a story");
  while (!talk.next().is_final) continue;
  talk.sink.write(std::vector<float>(10 * kRecogniserRate));
  talk.audio.give(200, 0.5f);
  talk.hear_voice("", true, 3200);
  EXPECT_EQ(talk.sink.gain(), 0.25f);
  talk.hear_voice("Mm-hm, okay.", true, 3200);
  EXPECT_EQ(talk.sink.gain(), 1);
  talk.hear_voice("okay, stop", true, 3200);
  EXPECT_EQ(talk.sink.gain(), 0);
  EXPECT_FALSE(first.stop_requested());
  talk.clock.set(talk.clock.now().count() + 0.5);
  talk.audio.give(20, 0.5f);
  EXPECT_TRUE(first.stop_requested());
  EXPECT_FALSE(talk.turns.begin_turn().stop_requested());
  EXPECT_EQ(talk.sink.gain(), 1) << "of the next answer";
  EXPECT_EQ(talk.next().text, "okay, stop");
}

TEST(SoundReader, WithoutHeadphonesNothingIsHeardWhileAnAnswerIsSaid) {
  Talk talk;
  const std::stop_token first = talk.turns.begin_turn();
  talk.say("tell me a story");
  while (!talk.next().is_final) continue;
  talk.desk.samples.clear();
  talk.audio.give(200, 0.5f);
  // What came before the answer goes first; then time goes on.
  ASSERT_GE(talk.desk.samples.size(), 3000u);
  EXPECT_TRUE(std::ranges::all_of(std::span(talk.desk.samples).last(3000),
                                  [](float x) { return x == 0.0f; }));
  talk.turns.begin_turn();
  talk.audio.give(200, 0.5f);
  EXPECT_TRUE(std::ranges::any_of(talk.desk.samples, [](float x) { return x > 0.4f; }));
  EXPECT_FALSE(first.stop_requested());
}

TEST(SoundReader, TheEndOfTheSoundEndsTheTurnUnderWay) {
  Talk talk;
  talk.audio.give(1000, 0.5f);
  talk.hear_voice("what is it", true, 16000);
  talk.audio.end();
  talk.is_over = true;
  Transcript last;
  while (!(last = talk.next()).is_final) ASSERT_NE(last.text, "the end");
  EXPECT_EQ(last.text, "what is it");
  EXPECT_EQ(talk.next().text, "the end");
}

TEST(SoundReader, SilenceAloneHasNoTurns) {
  Talk talk;
  talk.audio.give(1000, 0.0f);
  talk.audio.end();
  talk.is_over = true;
  EXPECT_EQ(talk.next().text, "the end");
}

TEST(SoundReader, AMicrophoneThatIsUnpluggedIsSaidBehindWhatWasHeard) {
  Talk talk;
  talk.say("what is it");
  talk.audio.fail();
  talk.is_over = true;
  while (!talk.next().is_final) continue;
  EXPECT_THROW(talk.next(), UserError);
}

TEST(SoundReader, WhatWasSaidBeforeAMicrophoneIsUnpluggedIsATurn) {
  Talk talk;
  talk.audio.give(1000, 0.5f);
  talk.hear_voice("what is it", true, 16000);
  talk.audio.fail();
  talk.is_over = true;
  Transcript last;
  while (!(last = talk.next()).is_final) continue;
  EXPECT_EQ(last.text, "what is it");
  EXPECT_THROW(talk.next(), UserError);
}

TEST(SoundReader, ARecogniserThatIsLateIsWaitedForAtTheEnd) {
  Talk talk;
  talk.audio.give(1000, 0.5f);
  talk.hear_voice("what", true, 16000);
  talk.desk.on_finish = [&] { talk.clock.hold(); };
  talk.audio.end();
  talk.clock.wait_held();
  talk.desk.hear("what is it", /*is_over=*/true);
  talk.desk.end();
  talk.clock.go_on();
  talk.is_over = true;
  Transcript last;
  while (!(last = talk.next()).is_final) ASSERT_NE(last.text, "the end");
  EXPECT_EQ(last.text, "what is it");
}

TEST(SoundReader, AQuestionIsAskedAgainEvenIfTheSoundHasEndedBeforeItsAnswerIsBrokenOff) {
  Talk talk(WhileSpeaking::kInterrupts);
  const std::stop_token turn = talk.turns.begin_turn();
  talk.say("what is it");
  while (!talk.next().is_final) continue;
  talk.audio.give(200, 0.5f);
  talk.hear_voice("the", true, 3200);
  talk.clock.set(talk.clock.now().count() + 0.5);
  talk.audio.give(20, 0.5f);
  EXPECT_TRUE(turn.stop_requested());
  talk.hear_voice("", false, 3200);
  bool is_committed = false;
  std::optional<Seconds> understood;
  talk.desk.on_finish = [&] { is_committed = true; };
  talk.clock.on_sleep = [&] {
    if (std::exchange(is_committed, false)) {
      talk.desk.end();  // nothing, after all
      understood = talk.clock.now();
    } else if (understood && talk.clock.now() > *understood + Seconds(5)) {  // a long pass
      understood.reset();
      talk.turns.ask_again();
      talk.turns.begin_turn();
    }
  };
  talk.audio.end();
  talk.is_over = true;
  Transcript last;
  while (!(last = talk.next()).is_final) ASSERT_NE(last.text, "the end");
  EXPECT_EQ(last.text, "what is it");
  EXPECT_EQ(talk.next().text, "the end");
}

TEST(SoundReader, WordsThatAreSaidAgainStandInFrontOfThoseThatAnEndIsExpectedOf) {
  Talk talk(WhileSpeaking::kInterrupts, /*by_words=*/true);
  talk.audio.give(1000, 0.5f);
  talk.hear_voice("what is the capital", false, 16000);
  talk.turns.expect_end("what is the capital", 0.99);
  talk.audio.give(500, 0.0f);
  ++talk.desk.utterance;
  while (!talk.next().is_final) continue;
  talk.turns.ask_again();
  talk.audio.give(1000, 0.5f);
  talk.hear_voice("of France", false, 24000);  // in it is the pause before, too
  Transcript heard = talk.next();
  EXPECT_EQ(heard.text, "what is the capital of France");
  talk.turns.expect_end(heard.text, 0.99);
  talk.audio.give(500, 0.0f);  // by other words it would take more
  heard = talk.next();
  EXPECT_TRUE(heard.is_final);
  EXPECT_EQ(heard.text, "what is the capital of France");
}

TEST(SoundReader, AStopEndsEveryWait) {
  Talk talk;
  const std::stop_token turn = talk.turns.begin_turn();
  talk.stop.request_stop();
  EXPECT_TRUE(turn.stop_requested());
  EXPECT_THROW(talk.next(), Interrupted);
  EXPECT_TRUE(talk.turns.begin_turn().stop_requested());
}

}  // namespace
}  // namespace predgen
