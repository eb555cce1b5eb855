#include "serve/realtime/sound_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/base64.h"
#include "runtime/speech/pcm16.h"
#include "serve/realtime/realtime_settings.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/recogniser_desk.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// In base64, a tone of 440 Hz; `begin`: the sample that it goes on from.
std::string tone(int64_t milliseconds, int64_t begin = 0) {
  std::vector<float> samples(static_cast<size_t>(milliseconds * kRealtimeRate / 1000));
  for (size_t i = 0; i < samples.size(); ++i) {
    const double time = static_cast<double>(begin + static_cast<int64_t>(i)) / kRealtimeRate;
    samples[i] = static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * 440 * time));
  }
  const std::vector<int16_t> pcm = to_pcm16(samples);
  return to_base64({reinterpret_cast<const char*>(pcm.data()), pcm.size() * sizeof(int16_t)});
}

struct Ear : SpeechListener {
  explicit Ear(bool detects = false) { in.detect_turns({.end = {.is_detected = detects}}); }
  void on_speech(const std::string& item, int64_t milliseconds, bool) override {
    begun.push_back(item);
    log.push_back("speech at " + std::to_string(milliseconds));
  }
  void on_words(const std::string& words) override { log.push_back("words " + words); }
  void on_turn(const SpokenTurn& turn) override {
    log.push_back("turn " + turn.text);
    turns.push_back(turn);
  }
  void on_lost(const ApiError& error) override { log.push_back("lost " + error.code()); }

  std::string code_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const ApiError& error) {
      return error.code();
    }
    return "";
  }

  RecogniserDesk desk;
  std::vector<std::string> log, begun;
  std::vector<SpokenTurn> turns;
  ManualClock clock;
  SoundIn in{desk.make, clock, *this};
};

TEST(SoundIn, ATurnThatIsCommittedHasWhatIsHeardUpToItsEnd) {
  Ear ear;
  ear.in.append(tone(1000));
  ear.desk.hear("find");
  ear.desk.hear("find me", /*is_over=*/true);
  ear.desk.hear("a", false, 1);
  ear.in.commit();
  EXPECT_THAT(ear.desk.log, ElementsAre("finish 0"));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.in.append(tone(200));  // of the next turn
  ear.desk.hear("a hotel", true, 1);
  ear.desk.end();
  EXPECT_THAT(ear.log, ElementsAre("words find", "words find me", "words find me a",
                                   "words find me a hotel", "turn find me a hotel"));
  EXPECT_TRUE(ear.turns[0].was_committed);
  EXPECT_FALSE(ear.turns[0].responds);
  EXPECT_EQ(ear.turns[0].stopped_at, std::nullopt);
  EXPECT_DOUBLE_EQ(ear.turns[0].seconds, 1);
  ear.in.commit();
  ear.desk.hear("cheap");
  ear.desk.end();
  EXPECT_EQ(ear.turns.back().text, "cheap");
  EXPECT_DOUBLE_EQ(ear.turns.back().seconds, 0.2);
}

TEST(SoundIn, APauseEndsATurnAfterEnoughSilence) {
  Ear ear(/*detects=*/true);
  ear.in.append(tone(1000));
  ear.desk.hear("");
  ear.desk.hear("find me");
  EXPECT_THAT(ear.log, ElementsAre("speech at 1000", "words find me"));
  ear.desk.hear("find me", /*is_over=*/true);
  ear.in.append(tone(400));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.desk.hear("a hotel", false, 1);  // it was a short one
  ear.in.append(tone(1000));
  EXPECT_THAT(ear.turns, IsEmpty());
  ear.desk.hear("a hotel", true, 1);  // after more silence than is needed
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_EQ(ear.turns[0].text, "find me a hotel");
  EXPECT_EQ(ear.turns[0].item, ear.begun[0]);
  EXPECT_EQ(ear.turns[0].stopped_at, 2400);
  EXPECT_TRUE(ear.turns[0].responds);
  ear.desk.hear("", false, 2);
  ear.desk.hear("", true, 2);  // silence goes on
  ear.in.append(tone(1000));
  EXPECT_THAT(ear.turns, SizeIs(1));
  ear.desk.hear("and", false, 2);
  ear.desk.hear("and", true, 2);
  ear.in.append(tone(500));
  ASSERT_THAT(ear.turns, SizeIs(2));
  EXPECT_EQ(ear.turns[1].text, "and");
  EXPECT_NE(ear.turns[1].item, ear.turns[0].item);
}

TEST(SoundIn, WhatIsSetAboutTurnsCounts) {
  Ear ear;
  ear.in.append(tone(1000));
  ear.desk.hear("one", /*is_over=*/true);
  ear.in.append(tone(1000));
  EXPECT_THAT(ear.turns, IsEmpty());  // the client commits
  ear.in.detect_turns({.end = {.is_detected = true, .silence_ms = 0}, .creates_response = false});
  ear.desk.hear("two", true, 1);
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_EQ(ear.turns[0].text, "one two");
  EXPECT_FALSE(ear.turns[0].responds);
}

TEST(SoundIn, WhatIsNoSoundIsRefused) {
  Ear ear;
  EXPECT_EQ(ear.code_of([&] { ear.in.append("no base64"); }), "invalid_value");
  EXPECT_EQ(ear.code_of([&] { ear.in.append("AAAA"); }), "invalid_value");  // three bytes
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "input_audio_buffer_commit_empty");
  ear.in.append("");
  ear.in.append(tone(99));
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "input_audio_buffer_commit_empty");
  EXPECT_EQ(ear.code_of([&] { ear.in.append(tone(600'000)); }), "input_audio_buffer_too_long");
  ear.in.append(tone(1));
  ear.in.commit();
  for (int i = 0; i < 7; ++i) {
    ear.in.append(tone(100));
    ear.in.commit();
  }
  ear.in.append(tone(100));
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "too_many_commits");
}

TEST(SoundIn, ALostTurnIsNotAnsweredByItsRest) {
  Ear ear;
  ear.in.append(tone(1000));
  ear.desk.hear("find");
  ear.desk.handler->on_failure("has gone away");
  EXPECT_THAT(ear.log, ElementsAre("words find", "lost recogniser_failed"));
  ear.desk.samples.clear();
  ear.in.append(tone(5000));
  EXPECT_THAT(ear.desk.samples, IsEmpty());
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "recogniser_failed");
  ear.desk.utterance = 1;
  ear.in.append(tone(1000));
  EXPECT_FALSE(ear.desk.samples.empty());
  ear.in.commit();
  ear.desk.hear("hello");
  ear.desk.end();
  EXPECT_EQ(ear.turns.back().text, "hello");
}

}  // namespace
}  // namespace predgen::serve
