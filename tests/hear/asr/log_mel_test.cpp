#include "hear/asr/log_mel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "hear/asr/ear.h"

namespace predgen::ears {
namespace {

std::vector<float> tone(double hertz, int64_t num_samples) {
  std::vector<float> samples(static_cast<size_t>(num_samples));
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<float>(
        0.1 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / kRate));
  }
  return samples;
}

std::vector<float> picture_of(std::span<const float> sound, int64_t window) {
  return LogMel()(normalized_window(sound, window));
}

TEST(Spectrum, IsThatOfTheDefinition) {
  for (const size_t size : {1u, 2u, 5u, 12u, 100u, 400u}) {
    std::vector<double> frame(size), energies(size / 2 + 1);
    for (size_t i = 0; i < size; ++i) frame[i] = std::sin(3.7 * static_cast<double>(i * i));
    Spectrum(size).energies(frame, energies);
    for (size_t k = 0; k < energies.size(); ++k) {
      std::complex<double> sum = 0;
      for (size_t i = 0; i < size; ++i) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(k * i % size) / static_cast<double>(size);
        sum += frame[i] * std::polar(1.0, angle);
      }
      EXPECT_NEAR(energies[k], std::norm(sum), 1e-9) << size << " " << k;
    }
  }
}

// The bands of tests/hear/asr/log_mel_parity.py's reference: 1,000 Hz is mel 15 of 45.2, in 81
// parts.
TEST(LogMel, ATonesBandIsTheLoudest) {
  constexpr int64_t kWindowSound = 2 * kRate;
  const std::vector<float> picture = picture_of(tone(1000, kWindowSound), kWindowSound);
  ASSERT_EQ(picture.size(), 80u * 200);
  const auto at = [&](int64_t band, int64_t t) {
    return picture[static_cast<size_t>(band * 200 + t)];
  };
  int64_t loudest = 0;
  for (int64_t band = 1; band < 80; ++band) {
    if (at(band, 100) > at(loudest, 100)) loudest = band;
  }
  EXPECT_EQ(loudest, 26);
  // 8 decades of energy are 2 of the picture, and nothing is below.
  const auto [least, most] = std::ranges::minmax(picture);
  EXPECT_NEAR(most - least, 2, 1e-5);
}

TEST(LogMel, ShortSoundHasSilenceInFront) {
  constexpr int64_t kWindowSound = 2 * kRate;
  const std::vector<float> sound = tone(500, kRate);
  std::vector<float> padded(kRate);
  padded.insert(padded.end(), sound.begin(), sound.end());
  const std::vector<float> whole = picture_of(padded, kWindowSound);
  const std::vector<float> part = picture_of(sound, kWindowSound);
  for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(part[i], whole[i], 1e-5) << i;
}

TEST(LogMel, NeitherLoudnessNorAnOffsetChangesIt) {
  std::vector<float> sound = tone(700, kRate);
  const std::vector<float> before = picture_of(sound, kRate);
  for (float& sample : sound) sample = 3 * sample + 0.2f;
  const std::vector<float> after = picture_of(sound, kRate);
  for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i], before[i], 1e-3) << i;
}

TEST(LogMel, SilenceIsEven) {
  for (const float value : picture_of(std::vector<float>(kRate), kRate)) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace predgen::ears
