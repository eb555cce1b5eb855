#include "audio/make_audio_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

/// Three blocks, each as loud as its number.
struct Blocks : AudioSource {
  int sample_rate() const override { return 16000; }
  std::span<const float> read() override {
    if (number == 3) return {};
    block.assign(320, 0.25f * static_cast<float>(++number));
    return block;
  }
  int number = 0;
  std::vector<float> block;
};

TEST(RecordingSource, WhatWasHeardIsInTheFileAtAnyTime) {
  const TemporaryFolder folder;
  const std::filesystem::path file = next_recording(folder / "new" / "folder");
  EXPECT_EQ(file, folder / "new" / "folder" / "heard-1.wav");
  RecordingSource source(std::make_unique<Blocks>(), file);
  std::vector<float> heard;
  for (auto block = source.read(); !block.empty(); block = source.read()) {
    heard.insert(heard.end(), block.begin(), block.end());
    ManualClock clock;
    AudioFileSource kept(file, clock);  // while it is written
    EXPECT_EQ(kept.sample_rate(), 16000);
    std::vector<float> samples;
    for (auto part = kept.read(); !part.empty(); part = kept.read()) {
      samples.insert(samples.end(), part.begin(), part.end());
    }
    EXPECT_THAT(samples, testing::Pointwise(testing::FloatNear(1e-4f), heard));
  }
  EXPECT_EQ(heard.size(), 3u * 320);
}

TEST(RecordingSource, NoRecordingTakesThePlaceOfAnother) {
  const TemporaryFolder folder;
  std::ofstream(folder / "heard-1.wav") << "an earlier one";
  EXPECT_EQ(next_recording(folder / ""), folder / "" / "heard-2.wav");
}

TEST(RecordingSource, AFileIsNoFolder) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "text";
  expect_user_error([&] { next_recording(folder / "file"); }, {"file", "folder for recordings"});
}

}  // namespace
}  // namespace predgen
