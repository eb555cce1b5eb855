#include "voice/waveform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tensors/safetensors.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/zonos_golden.h"

namespace predgen {
namespace {

at::Tensor sine(double hz, int64_t rate, int64_t num_samples) {
  return (at::arange(num_samples, at::kDouble) *
          (2 * std::numbers::pi * hz / static_cast<double>(rate)))
      .sin()
      .to(at::kFloat);
}

TEST(WaveformTest, ResamplesAsTheReference) {
  const SafetensorsFile cases(kVoiceGolden / "cases.safetensors");
  const at::Tensor found = resample(cases.tensor("rs_in_44k")[0], 44100, 16000);
  ASSERT_EQ(found.sizes(), at::IntArrayRef{1600});
  EXPECT_LE((found - cases.tensor("rs_out_16k")[0]).abs().max().item<double>(), 2e-5);  // of 3.6
}

TEST(WaveformTest, KeepsASineAtAnyRate) {
  for (const int64_t from : {8000, 16000, 22050, 44100, 44101, 48000, 192000}) {
    for (const int64_t to : {16000, 44100}) {
      const at::Tensor found = resample(sine(440, from, from / 5 + 3), from, to);
      const int64_t expected = (to * (from / 5 + 3) + from - 1) / from;
      ASSERT_EQ(found.size(0), expected) << from << " to " << to;
      const int64_t edge = to / 100;
      const at::Tensor difference =
          (found - sine(440, to, expected)).narrow(0, edge, expected - 2 * edge);
      EXPECT_LE(difference.abs().max().item<double>(), 5e-3) << from << " to " << to;
    }
  }
}

TEST(WaveformTest, TakesOffWhatTheNewRateCannotHold) {
  const at::Tensor found = resample(sine(11000, 44100, 4410), 44100, 16000);
  EXPECT_LE(found.narrow(0, 100, 1400).abs().max().item<double>(), 0.02);
}

TEST(WaveformTest, MixesChannels) {
  const Waveform stereo{"x", 8000, at::stack({at::full({50}, 0.5), at::full({50}, -0.25)})};
  EXPECT_TRUE(at::equal(mono_at(stereo, 8000), at::full({50}, 0.125)));
}

TEST(WaveformTest, RefusesWhatIsNoSound) {
  const auto refused = [](int64_t rate, const at::Tensor& samples, const char* part) {
    expect_user_error([&] { mono_at({"a.wav", rate, samples}, 16000); }, {"a.wav", part});
  };
  refused(16000, at::empty({1, 0}), "no sound");
  refused(16000, at::empty({0, 0}), "no sound");
  refused(16000, at::full({2, 5}, std::numeric_limits<float>::infinity()), "finite");
  refused(16000, at::full({2, 5}, std::numeric_limits<float>::quiet_NaN()), "finite");
  refused(0, at::zeros({1, 5}), "0 Hz");
  refused(2'000'000'000, at::zeros({1, 5}), "2000000000 Hz");
}

}  // namespace
}  // namespace predgen
