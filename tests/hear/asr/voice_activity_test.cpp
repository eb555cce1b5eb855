#include <gtest/gtest.h>

#include "hear/asr/ear.h"

namespace predgen::ears {
namespace {

// Windows that end a phrase.
constexpr int64_t kSilence = (VoiceActivity::kOver + kWindow - 1) / kWindow;

struct Sound {
  void add(double probability, int64_t num_windows) {
    for (int64_t i = 0; i < num_windows; ++i) activity.add(probability);
  }
  VoiceActivity activity;
};

TEST(VoiceActivity, AVoiceBeginsAfterATenthOfASecond) {
  Sound sound;
  sound.add(0.1, 10);
  EXPECT_EQ(sound.activity.until(), 0);
  sound.add(0.9, 2);
  EXPECT_FALSE(sound.activity.is_active());  // a click
  sound.add(0.9, 1);
  EXPECT_TRUE(sound.activity.is_active());
  EXPECT_TRUE(sound.activity.is_phrase());
  EXPECT_EQ(sound.activity.since(), 10 * kWindow);
  EXPECT_EQ(sound.activity.until(), 13 * kWindow);
  EXPECT_EQ(sound.activity.phrase_voice(), 3 * kWindow);
}

TEST(VoiceActivity, ClicksAreNoVoice) {
  Sound sound;
  for (int i = 0; i < 20; ++i) {
    sound.add(0.9, 2);
    sound.add(0.1, 1);
  }
  EXPECT_FALSE(sound.activity.is_phrase());
}

TEST(VoiceActivity, APauseIsNoticedAtOnceAndEndsNothing) {
  Sound sound;
  sound.add(0.9, 10);
  EXPECT_TRUE(sound.activity.is_active());
  sound.add(0.1, 1);
  EXPECT_FALSE(sound.activity.is_active());
  EXPECT_TRUE(sound.activity.is_phrase());
  EXPECT_EQ(sound.activity.until(), 10 * kWindow);
  EXPECT_EQ(sound.activity.silence(), kWindow);
  sound.add(0.9, 1);
  EXPECT_FALSE(sound.activity.is_active());
  sound.add(0.9, 1);
  EXPECT_TRUE(sound.activity.is_active());
  EXPECT_EQ(sound.activity.since(), 0);  // the same phrase
  EXPECT_EQ(sound.activity.phrase_voice(), 12 * kWindow);
}

TEST(VoiceActivity, HalfASecondOfSilenceEndsAPhrase) {
  Sound sound;
  sound.add(0.9, 10);
  sound.add(0.1, kSilence - 1);
  EXPECT_TRUE(sound.activity.is_phrase());
  sound.add(0.1, 1);
  EXPECT_FALSE(sound.activity.is_phrase());
  EXPECT_EQ(sound.activity.until(), 10 * kWindow);
  sound.add(0.9, 3);
  EXPECT_EQ(sound.activity.since(), (10 + kSilence) * kWindow);  // another one
  EXPECT_EQ(sound.activity.phrase_voice(), 3 * kWindow);
}

TEST(VoiceActivity, WhatMayGoOnKeepsAPhraseOpenUntilThatIsKnown) {
  Sound sound;
  sound.add(0.9, 10);
  sound.add(0.1, kSilence - 1);
  sound.add(0.9, 2);
  EXPECT_TRUE(sound.activity.is_active());
  EXPECT_EQ(sound.activity.since(), 0);
}

TEST(VoiceActivity, AVoiceThatIsThereMayBeLessCertain) {
  Sound sound;
  sound.add(0.4, 20);
  EXPECT_FALSE(sound.activity.is_active());
  sound.add(0.6, 3);
  sound.add(0.4, 20);
  EXPECT_TRUE(sound.activity.is_active());
  EXPECT_EQ(sound.activity.until(), 43 * kWindow);
  sound.add(0.3, 2);
  EXPECT_FALSE(sound.activity.is_active());
}

}  // namespace
}  // namespace predgen::ears
