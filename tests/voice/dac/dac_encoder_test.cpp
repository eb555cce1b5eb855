#include "voice/dac/dac_encoder.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_dac.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

class DacEncoderTest : public testing::Test {
 protected:
  static DacEncoder make() {
    TemporaryFolder folder;
    write_dac(folder.path(), small_dac_config());
    return DacEncoder(DacWeights(folder.path()));
  }
  Waveform noise(int64_t num_samples) {
    at::manual_seed(5);
    return {"noise.wav", 44100, at::randn({1, num_samples}) * 0.2};
  }
  const DacEncoder encoder_ = make();
};

TEST_F(DacEncoderTest, FillsTheLastFrameWithSilence) {
  const Waveform ragged = noise(3 * 512 + 1);
  const at::Tensor codes = encoder_.encode(ragged);
  EXPECT_EQ(codes.sizes(), (at::IntArrayRef{3, 4}));
  EXPECT_EQ(codes.scalar_type(), at::kLong);
  const at::Tensor padded = at::constant_pad_nd(ragged.samples_CN, {0, 511});
  EXPECT_TRUE(at::equal(codes, encoder_.encode({"padded", 44100, padded})));
  EXPECT_EQ(encoder_.encode(noise(1)).size(1), 1);
  // The released voice begins with this many frames of silence.
  EXPECT_EQ(encoder_.encode({"silence", 44100, at::zeros({1, 4691})}).size(1), 10);
}

TEST_F(DacEncoderTest, DifferentSoundHasDifferentCodes) {
  const at::Tensor codes = encoder_.encode(noise(512 * 40));
  EXPECT_GE(std::get<0>(at::_unique(codes)).size(0), 10);
  EXPECT_LT(codes.max().item<int64_t>(), 32);
}

TEST_F(DacEncoderTest, MixesChannelsAndResamples) {
  const Waveform mono = noise(512 * 8);
  const at::Tensor twice = at::cat({mono.samples_CN * 2, at::zeros_like(mono.samples_CN)});
  EXPECT_TRUE(at::equal(encoder_.encode({"stereo", 44100, twice}), encoder_.encode(mono)));
  const at::Tensor resampled = resample(mono.samples_CN[0], 48000, 44100).unsqueeze(0);
  EXPECT_TRUE(at::equal(encoder_.encode({"48k", 48000, mono.samples_CN}),
                        encoder_.encode({"44k", 44100, resampled})));
}

TEST_F(DacEncoderTest, RefusesWhatIsNoSound) {
  Waveform bad = noise(100);
  bad.samples_CN[0][7] = std::numeric_limits<float>::quiet_NaN();
  expect_user_error([&] { encoder_.encode(bad); }, {"noise.wav", "finite"});
  expect_user_error([&] { encoder_.encode(noise(0)); }, {"noise.wav", "no sound"});
}

}  // namespace
}  // namespace predgen
