#include "serve/realtime/sound_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base64.h"
#include "serve/realtime/realtime_settings.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/recogniser_desk.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// Silence, as a client sends it.
std::string sound(int64_t milliseconds) {
  return to_base64(std::string(static_cast<size_t>(2 * milliseconds * kRealtimeRate / 1000), '\0'));
}

struct Ear : SpeechListener {
  explicit Ear(bool detects = false) { in.detect_turns({.end = {.is_detected = detects}}); }
  void on_speech(const std::string& item, int64_t, bool) override { begun.push_back(item); }
  void on_words(const std::string&) override {}
  void on_turn(const SpokenTurn& turn) override { turns.push_back(turn); }
  void on_lost(const ApiError& error) override { lost.push_back(error.code()); }

  std::string code_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const ApiError& error) {
      return error.code();
    }
    return "";
  }

  RecogniserDesk desk;
  std::vector<std::string> begun, lost;
  std::vector<SpokenTurn> turns;
  ManualClock clock;
  SoundIn in{desk.make, clock, *this};
};

TEST(SoundIn, ATurnIsTheItemThatItBeganAs) {
  Ear ear(/*detects=*/true);
  for (int64_t i = 0; i < 2; ++i) {
    ear.in.append(sound(1000));
    ear.desk.hear("find me", /*is_over=*/true, i);
    ear.in.append(sound(500));
  }
  ASSERT_THAT(ear.turns, SizeIs(2));
  ASSERT_THAT(ear.begun, SizeIs(2));
  EXPECT_NE(ear.begun[0], ear.begun[1]);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(ear.turns[i].item, ear.begun[i]);
}

TEST(SoundIn, ATurnIsAnsweredWhereItsEndWasDetectedUnlessTheClientSaysOtherwise) {
  Ear ear;
  ear.in.append(sound(1000));
  ear.in.commit();
  ear.desk.hear("one");
  ear.desk.end();
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_FALSE(ear.turns[0].responds);
  EXPECT_FALSE(ear.turns[0].item.empty());
  EXPECT_DOUBLE_EQ(ear.turns[0].seconds, 1);
  for (const bool creates_response : {true, false}) {
    ear.in.detect_turns(
        {.end = {.is_detected = true, .silence_ms = 0}, .creates_response = creates_response});
    ear.in.append(sound(1000));
    ear.desk.hear("two", /*is_over=*/true);
    EXPECT_EQ(ear.turns.back().text, "two");
    EXPECT_EQ(ear.turns.back().responds, creates_response);
  }
  EXPECT_THAT(ear.turns, SizeIs(3));
}

TEST(SoundIn, WhatIsNoSoundIsRefused) {
  Ear ear;
  EXPECT_EQ(ear.code_of([&] { ear.in.append("no base64!"); }), "invalid_value");
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "input_audio_buffer_commit_empty");
  ear.in.append("");
  ear.in.append(sound(99));
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "input_audio_buffer_commit_empty");
  EXPECT_EQ(ear.code_of([&] { ear.in.append(sound(600'000)); }), "input_audio_buffer_too_long");
  ear.in.append(sound(1));
  ear.in.commit();
  for (int i = 0; i < 7; ++i) {
    ear.in.append(sound(100));
    ear.in.commit();
  }
  ear.in.append(sound(100));
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "too_many_commits");
}

TEST(SoundIn, SoundComesInPiecesOfAnySize) {
  Ear ear;
  const std::string bytes(2 * kRealtimeRate / 5, '\x01');  // 0.2 s
  for (size_t begin = 0; begin < bytes.size(); begin += 333) {
    std::string piece = to_base64(std::string_view(bytes).substr(begin, 333));
    piece.erase(std::min(piece.find('='), piece.size()));
    ear.in.append(piece + "\n");
  }
  ear.in.append("AA");  // a half that nothing follows
  ear.in.commit();
  ear.desk.end();
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_DOUBLE_EQ(ear.turns[0].seconds, 0.2);
  const float loud = 257 / 32768.0f;
  EXPECT_NEAR(ear.desk.samples[1000], loud, 1e-3);
}

TEST(SoundIn, ATelephonesSoundIsAsLongAsItIs) {
  Ear ear;
  ear.in.set_format({LineFormat::Encoding::kALaw, 8000});
  for (int i = 0; i < 50; ++i) ear.in.append(to_base64(std::string(160, '\xd5')));  // 20 ms each
  ear.in.commit();
  ear.desk.end();
  ASSERT_THAT(ear.turns, SizeIs(1));
  EXPECT_NEAR(ear.turns[0].seconds, 1, 1e-3);
}

TEST(SoundIn, ALostTurnIsAnErrorOfTheServer) {
  Ear ear;
  ear.in.append(sound(1000));
  ear.desk.handler->on_failure("has gone away");
  EXPECT_THAT(ear.lost, ElementsAre("recogniser_failed"));
  EXPECT_EQ(ear.code_of([&] { ear.in.commit(); }), "recogniser_failed");
}

}  // namespace
}  // namespace predgen::serve
