#include "audio/echo/echo_guard.h"

#include <gtest/gtest.h>

#include <vector>

namespace predgen {
namespace {

using Choice = EchoGuard::Choice;

/// So many frames of these loudnesses; the last choice.
Choice pass(EchoGuard& guard, int num_frames, float played, float heard, float cleaned) {
  const auto frame = [](float loudness) { return std::vector<float>(160, loudness); };
  Choice choice = Choice::kHeard;
  for (int i = 0; i < num_frames; ++i) {
    choice = guard.choose(frame(played), frame(heard), frame(cleaned));
  }
  return choice;
}

TEST(EchoGuard, SoundIsAsItIsHeardWhereNothingIsPlayed) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 1000, 0, 0.3f, 0.01f), Choice::kHeard);
  EXPECT_FALSE(guard.has_learnt());
}

TEST(EchoGuard, NothingIsHeardWhileSomethingIsPlayedUntilTheEchoIsGone) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 1, 0.1f, 0.1f, 0.1f), Choice::kNothing);
  EXPECT_EQ(pass(guard, 300, 0.1f, 0.1f, 0.05f), Choice::kNothing);  // 6 dB
  EXPECT_EQ(pass(guard, 49, 0, 0.1f, 0.05f), Choice::kNothing);      // it may sound still
  EXPECT_EQ(pass(guard, 1, 0, 0.1f, 0.05f), Choice::kHeard);
  EXPECT_EQ(pass(guard, 200, 0.1f, 0.1f, 0.01f), Choice::kCleaned);  // 20 dB
  EXPECT_TRUE(guard.has_learnt());
}

TEST(EchoGuard, ASecondIsTheLeastToLearnFrom) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 99, 0.1f, 0.1f, 0), Choice::kNothing);
  EXPECT_EQ(pass(guard, 1, 0.1f, 0.1f, 0), Choice::kCleaned);
}

TEST(EchoGuard, WhoSpeaksOverItLaterIsHeard) {
  EchoGuard guard;
  pass(guard, 200, 0.1f, 0.1f, 0.01f);
  EXPECT_EQ(pass(guard, 200, 0.1f, 0.3f, 0.3f), Choice::kCleaned);
  EXPECT_EQ(pass(guard, 400, 0.1f, 0.1f, 0.01f), Choice::kCleaned);
  EXPECT_EQ(pass(guard, 200, 0.1f, 0.3f, 0.3f), Choice::kCleaned);
  EXPECT_EQ(pass(guard, 500, 0.1f, 0.3f, 0.3f), Choice::kNothing);  // that is the echo, come back
  EXPECT_EQ(pass(guard, 400, 0.1f, 0.1f, 0.01f), Choice::kCleaned);
  guard.forget();
  EXPECT_EQ(pass(guard, 500, 0.1f, 0.3f, 0.3f), Choice::kNothing);
}

TEST(EchoGuard, AnEchoThatNobodyHearsIsGone) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 100, 0.1f, 0.0009f, 0.0009f), Choice::kCleaned);
  EchoGuard loud_room;
  pass(loud_room, 3000, 0, 0.02f, 0.02f);
  EXPECT_EQ(pass(loud_room, 100, 0.1f, 0.03f, 0.019f), Choice::kCleaned);
  EchoGuard after_speech;
  pass(after_speech, 3000, 0, 0.001f, 0.001f);
  pass(after_speech, 100, 0, 0.1f, 0.1f);
  EXPECT_EQ(pass(after_speech, 100, 0.1f, 0.03f, 0.019f), Choice::kNothing);
}

TEST(EchoGuard, WhoBreaksInOftenIsHeardStill) {
  EchoGuard guard;
  pass(guard, 200, 0.1f, 0.1f, 0.01f);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pass(guard, 200, 0.1f, 0.3f, 0.3f), Choice::kCleaned);
    EXPECT_EQ(pass(guard, 200, 0, 0.3f, 0.3f), Choice::kHeard);
  }
}

}  // namespace
}  // namespace predgen
