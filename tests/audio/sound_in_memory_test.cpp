#include "audio/sound_in_memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audio/sound_encoder.h"
#include "hear/recogniser.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

/// Two seconds of a tone.
std::string recording(SoundFormat format, int rate) {
  std::vector<float> samples(2 * static_cast<size_t>(rate));
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = 0.5F * std::sin(static_cast<float>(i) * 2000.0F / static_cast<float>(rate));
  }
  SoundEncoder encoder(format, rate);
  std::string bytes = encoder.encode(samples);
  return bytes + encoder.finish();
}

std::vector<float> all_of(std::string_view bytes) {
  SoundInMemory sound{std::string(bytes)};
  std::vector<float> all;
  for (auto block = sound.read(); !block.empty(); block = sound.read()) {
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

TEST(SoundInMemory, IsWhatARecogniserWantsWhateverItWas) {
  for (const auto& [name, format] : sound_formats()) {
    if (format == SoundFormat::kPcm) continue;
    const std::vector<float> heard = all_of(recording(format, 48000));
    EXPECT_NEAR(static_cast<double>(heard.size()), 2 * kRecogniserRate, 3000) << name;
    double sum = 0;
    for (const float sample : heard) sum += std::abs(static_cast<double>(sample));
    EXPECT_NEAR(sum / static_cast<double>(heard.size()), 0.32, 0.05) << name;
  }
}

TEST(SoundInMemory, WhatIsNoSoundIsSaid) {
  expect_user_error([] { SoundInMemory(""); }, {"is empty"});
  expect_user_error([] { SoundInMemory("no sound at all"); }, {"cannot be read as sound"});
  expect_user_error(
      [] {
        SoundInMemory(
            std::string("\0\0\0\x20"
                        "ftypM4A ",
                        12));
      },
      {"as sound"});
}

}  // namespace
}  // namespace predgen
