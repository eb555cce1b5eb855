#include "voice/hibari/hibari_sound.h"

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace predgen {
namespace {

constexpr int64_t kSoundHop = 300, kWindow = 1200, kBins = 601;
constexpr double kVoiceRate = 24000, kPi = std::numbers::pi;

at::Tensor level(int64_t num_frames, double value) { return at::full({kBins, num_frames}, value); }

HibariFrames silent_frames(int64_t num_frames) {
  const at::Tensor none = level(num_frames, -40);
  return {none, level(num_frames, 0), none, none, level(num_frames, 0), at::zeros({num_frames})};
}

at::Tensor noise(int64_t num_frames, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::view_as_complex(at::randn({num_frames, kBins, 2}));
}

std::vector<float> sound_of(const HibariFrames& frames, const at::Tensor& noise_FB, int64_t step) {
  HibariSound sound(frames);
  std::vector<float> samples;
  for (int64_t at = 0; sound.frames_left() > 0; at += step) {
    sound.push(noise_FB.slice(0, at, at + std::min(step, sound.frames_left())), samples);
  }
  return samples;
}

double level_of(const std::vector<float>& samples, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += samples[i] * samples[i];
  return std::sqrt(sum / static_cast<double>(end - begin));
}

struct HibariSoundTest : testing::Test {
  c10::InferenceMode inference;
};

TEST_F(HibariSoundTest, HasThreeHundredSamplesAFrameHoweverItIsCut) {
  HibariFrames frames = silent_frames(50);
  frames.voice_BF = at::randn({kBins, 50}) - 1;
  frames.turn_BF = at::randn({kBins, 50});
  frames.noise_BF = at::randn({kBins, 50}) - 4;
  frames.rest_BF = at::randn({kBins, 50}) - 1;
  frames.phase_BF = at::randn({kBins, 50}) * 3;
  frames.pitch_F = at::linspace(30, 400, 50);
  const at::Tensor drawn = noise(50);
  const auto whole = sound_of(frames, drawn, 50);
  ASSERT_EQ(whole.size(), 50 * 300U);
  EXPECT_GT(level_of(whole, 6000, 12000), 1e-3);
  for (const int64_t step : {1, 7, 49}) {
    const auto pieces = sound_of(frames, drawn, step);
    ASSERT_EQ(pieces.size(), whole.size());
    float most = 0;
    for (size_t i = 0; i < whole.size(); ++i) most = std::max(most, std::abs(pieces[i] - whole[i]));
    EXPECT_LT(most, 1e-6) << step;
  }
}

TEST_F(HibariSoundTest, SamplesComeAsSoonAsTheyAreCertain) {
  HibariSound sound(silent_frames(8));
  std::vector<float> samples;
  sound.push(noise(2), samples);
  EXPECT_EQ(samples.size(), 0U);
  sound.push(noise(4), samples);
  EXPECT_EQ(samples.size(), 4 * 300U);
  EXPECT_EQ(sound.frames_left(), 2);
  sound.push(noise(2), samples);
  EXPECT_EQ(samples.size(), 8 * 300U);
  EXPECT_ANY_THROW(sound.push(noise(1), samples));
}

/// The transform, its windows and its scale.
TEST_F(HibariSoundTest, ARestOfOneFrequencyIsACosine) {
  constexpr int64_t kFrames = 40, kBin = 50;  // 1 kHz
  HibariFrames frames = silent_frames(kFrames);
  frames.rest_BF[kBin].fill_(std::log(100.0));
  // From frame to frame the phase goes on as the cosine does.
  frames.phase_BF[kBin].copy_(at::arange(kFrames, at::kFloat) *
                              (2 * kPi * kBin * kSoundHop / kWindow));
  const auto samples = sound_of(frames, noise(kFrames) * 0, kFrames);
  // Windows of Hann, a quarter apart, add up to 2, their squares to 3/2.
  const double amplitude = 2 * 100.0 / kWindow * 2 / 1.5;
  for (size_t i = 1200; i < samples.size() - 1200; ++i) {
    const double angle = 2 * kPi * kBin * (static_cast<double>(i) + 600) / kWindow;
    ASSERT_NEAR(samples[i], amplitude * std::cos(angle), 1e-4) << i;
  }
}

TEST_F(HibariSoundTest, ThePitchIsHeardAndSilenceIsNot) {
  constexpr int64_t kFrames = 60;
  HibariFrames frames = silent_frames(kFrames);
  frames.voice_BF.fill_(std::log(3.0));
  frames.pitch_F.fill_(200);
  frames.pitch_F.slice(0, 40).fill_(0);
  const auto samples = sound_of(frames, noise(kFrames) * 0, kFrames);
  constexpr size_t kPeriod = 120;  // of 200 Hz
  for (size_t i = 3000; i < 9000; ++i) ASSERT_NEAR(samples[i], samples[i + kPeriod], 2e-3) << i;
  EXPECT_GT(level_of(samples, 3000, 9000), 0.02);
  EXPECT_LT(level_of(samples, 14000, 18000), 1e-6);
}

TEST_F(HibariSoundTest, NoiseHasTheMagnitudeThatTheFramesSay) {
  constexpr int64_t kFrames = 200;
  HibariFrames frames = silent_frames(kFrames);
  frames.noise_BF.fill_(std::log(0.5));
  const auto quiet = sound_of(frames, noise(kFrames), 40);
  frames.noise_BF.fill_(std::log(1.0));
  const auto loud = sound_of(frames, noise(kFrames), 40);
  const double ratio = level_of(loud, 3000, 57000) / level_of(quiet, 3000, 57000);
  EXPECT_NEAR(ratio, 2, 1e-3);
  EXPECT_NE(sound_of(frames, noise(kFrames, 2), 40), loud);
}

TEST_F(HibariSoundTest, NoSampleIsLouderThanOne) {
  HibariFrames frames = silent_frames(20);
  frames.noise_BF.fill_(100);
  const auto samples = sound_of(frames, noise(20), 20);
  EXPECT_EQ(std::ranges::max(samples), 1);
  EXPECT_EQ(std::ranges::min(samples), -1);
}

/// Against the sum of cosines that it is.
TEST(HibariPulses, AreTheCosinesOfAllMultiplesBelowElevenKilohertz) {
  const at::Tensor pitch = at::tensor({100.0F, 100.0F, 150.0F, 150.0F, 0.0F, 0.0F});
  const at::Tensor pulses = hibari_pulses(pitch);
  ASSERT_EQ(pulses.numel(), 6 * kSoundHop);
  double cycles = 0;
  for (int64_t i = 0; i < 3 * kSoundHop + kSoundHop / 2; ++i) {
    // Lines between the middles of the frames, where the pitch is as given.
    const double place = (static_cast<double>(i) + 0.5) / kSoundHop - 0.5;
    const double from = std::clamp(std::floor(place), 0.0, 5.0), to = std::min(from + 1, 5.0);
    const double share = std::clamp(place - from, 0.0, 1.0);
    const auto at = [&](double frame) { return pitch[static_cast<int64_t>(frame)].item<double>(); };
    const double hertz = at(from) * (1 - share) + at(to) * share;
    cycles += hertz / kVoiceRate;
    if (i % 11 != 0) continue;
    double sum = 0;
    for (int k = 1; k <= static_cast<int>(11000 / hertz); ++k)
      sum += std::cos(2 * kPi * k * cycles);
    ASSERT_NEAR(pulses[i].item<double>(), sum, 0.05 + 1e-3 * std::abs(sum)) << i;
  }
  EXPECT_EQ(pulses.slice(0, 5 * kSoundHop).abs().max().item<double>(), 0);
}

TEST(HibariPulses, KeepTheirPhaseAcrossLongPieces) {
  const at::Tensor pulses = hibari_pulses(at::full({400}, 200.0F));
  for (int64_t i = 0; i < pulses.numel() - 120; i += 997) {
    ASSERT_NEAR(pulses[i].item<double>(), pulses[i + 120].item<double>(), 0.05) << i;
  }
}

}  // namespace
}  // namespace predgen
