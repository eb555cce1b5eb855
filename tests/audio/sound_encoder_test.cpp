#include "audio/sound_encoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audio/sound_file.h"
#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr int kEncodedRate = 24000;

/// A second of a tone.
std::vector<float> second_of_tone() {
  std::vector<float> samples(kEncodedRate);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = 0.5F * std::sin(static_cast<float>(i) * 0.1F);
  }
  return samples;
}

struct Encoded {
  std::string bytes;
  size_t before_the_end = 0;
};

Encoded encode(SoundFormat format) {
  const std::vector<float> samples = second_of_tone();
  SoundEncoder encoder(format, kEncodedRate);
  Encoded encoded;
  for (size_t at = 0; at < samples.size(); at += 2400) {
    encoded.bytes += encoder.encode(std::span(samples).subspan(at, 2400));
  }
  encoded.before_the_end = encoded.bytes.size();
  encoded.bytes += encoder.finish();
  return encoded;
}

double loudness(const std::vector<float>& samples) {
  double sum = 0;
  for (const float sample : samples) sum += std::abs(sample);
  return sum / static_cast<double>(samples.size());
}

TEST(SoundEncoder, OtherProgramsReadWhatItStreams) {
  const TemporaryFolder folder;
  for (const auto& [name, format] : sound_formats()) {
    if (format == SoundFormat::kPcm) continue;
    const Encoded encoded = encode(format);
    EXPECT_GT(encoded.before_the_end, encoded.bytes.size() / 2)
        << name << " comes while it is made";
    const auto file = folder / ("sound." + name);
    write_file(file, encoded.bytes);
    SoundFile sound(file);
    ASSERT_EQ(sound.num_channels(), 1) << name;
    std::vector<float> heard(3UL * static_cast<size_t>(sound.sample_rate()));
    heard.resize(static_cast<size_t>(sound.read(heard)));
    const double seconds = static_cast<double>(heard.size()) / sound.sample_rate();
    EXPECT_NEAR(seconds, 1, 0.125) << name;
    EXPECT_NEAR(loudness(heard), loudness(second_of_tone()), 0.05) << name;
  }
}

TEST(SoundEncoder, SamplesWithoutAHeaderAreSixteenBits) {
  EXPECT_EQ(encode(SoundFormat::kPcm).bytes.size(), 2U * kEncodedRate);
  EXPECT_EQ(encode(SoundFormat::kWav).bytes.substr(44), encode(SoundFormat::kPcm).bytes);
  EXPECT_TRUE(encode(SoundFormat::kWav).bytes.starts_with("RIFF\xff\xff\xff\xffWAVEfmt "));
}

TEST(SoundEncoder, WhatIsTooLoudIsClipped) {
  for (const auto& [name, format] : sound_formats()) {
    SoundEncoder encoder(format, kEncodedRate);
    std::string bytes = encoder.encode(std::vector<float>(4800, 7.0F));
    bytes += encoder.finish();
    EXPECT_FALSE(bytes.empty()) << name;
  }
}

TEST(SoundEncoder, NothingMayBeEncoded) {
  for (const auto& [name, format] : sound_formats()) {
    const std::string bytes = SoundEncoder(format, kEncodedRate).finish();
    EXPECT_EQ(bytes.size(), format == SoundFormat::kWav ? 44 : bytes.size()) << name;
  }
}

}  // namespace
}  // namespace predgen
