#include "audio/resampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace predgen {
namespace {

std::vector<float> wave_of(size_t num_samples) {
  std::vector<float> samples(num_samples);
  for (size_t i = 0; i < num_samples; ++i) samples[i] = 0.5F * std::sin(static_cast<float>(i) / 9);
  return samples;
}

std::vector<float> all_of(Resampler& resampler, std::span<const float> samples, size_t at_once) {
  std::vector<float> output;
  for (std::span<const float> rest = samples; !rest.empty();) {
    const size_t count = std::min(rest.size(), at_once);
    resampler.add(rest.first(count), output);
    rest = rest.subspan(count);
  }
  resampler.finish(output);
  return output;
}

TEST(Resampler, SoundInPartsIsTheSameAsWhole) {
  const std::vector<float> samples = wave_of(30'000);
  for (const int to : {8000, 16000, 48000}) {
    Resampler resampler(24000, to);
    const std::vector<float> whole = all_of(resampler, samples, samples.size());
    EXPECT_NEAR(static_cast<double>(whole.size()), 30'000 * resampler.ratio(), 2);
    const std::vector<float> parts = all_of(resampler, samples, 700);  // another sound after it
    ASSERT_NEAR(static_cast<double>(parts.size()), static_cast<double>(whole.size()), 1);
    for (size_t i = 0; i < std::min(parts.size(), whole.size()); ++i) {
      ASSERT_NEAR(parts[i], whole[i], 1e-5) << to << " Hz, at " << i;
    }
  }
}

TEST(Resampler, WhatWasForgottenIsNotHeard) {
  Resampler resampler(8000, 16000);
  std::vector<float> output;
  resampler.add(wave_of(1000), output);
  resampler.clear();
  output.clear();
  resampler.add(std::vector<float>(1000), output);
  resampler.finish(output);
  EXPECT_NEAR(static_cast<double>(output.size()), 2000, 1);
  EXPECT_EQ(*std::ranges::max_element(output), 0);
}

TEST(Resampler, AppendsToWhatIsThere) {
  Resampler resampler(16000, 8000);
  std::vector<float> output{7};
  resampler.add(wave_of(4000), output);
  EXPECT_EQ(output[0], 7);
  EXPECT_GT(output.size(), 1U);
}

TEST(Resampler, RatesThatAreTooFarApartAreErrors) { EXPECT_THROW(Resampler(100, 48000), Error); }

}  // namespace
}  // namespace predgen
