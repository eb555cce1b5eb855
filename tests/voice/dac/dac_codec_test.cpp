#include "voice/dac/dac_codec.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
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

double max_difference(const at::Tensor& left, const at::Tensor& right) {
  EXPECT_EQ(left.sizes(), right.sizes());
  if (left.sizes() != right.sizes()) return 1e9;
  return left.numel() == 0 ? 0 : (left - right).abs().max().item<double>();
}

DacDecoder make_decoder(const DacConfig& config) {
  TemporaryFolder folder;
  write_dac(folder.path(), config);
  return DacDecoder(DacWeights(folder.path()));
}

class DacStreamTest : public testing::Test {
 protected:
  at::Tensor frames(int64_t begin, int64_t end) const {
    return codes_.narrow(1, begin, end - begin);
  }

  const DacDecoder decoder_ = make_decoder(small_dac_config());
  const int64_t hop_ = decoder_.config().hop();
  const at::Tensor codes_ = random_codes(decoder_.config(), 40);
  const at::Tensor whole_ = decoder_.decode(codes_);
};

TEST_F(DacStreamTest, TheClipIsNeitherSilentNorClipped) {
  EXPECT_EQ(whole_.sizes(), at::IntArrayRef{40 * hop_});
  EXPECT_GT(whole_.std().item<double>(), 0.05);
  EXPECT_LT(whole_.abs().mean().item<double>(), 0.5);
  EXPECT_EQ(decoder_.lookahead(), 4757);
}

TEST_F(DacStreamTest, AnyChunksGiveTheWholeClip) {
  const std::vector<std::vector<int64_t>> chunkings{
      {40}, {0, 40, 0}, {9, 8, 8, 15}, {1, 2, 3, 4, 5, 6, 7, 8, 4}, std::vector<int64_t>(40, 1)};
  for (const std::vector<int64_t>& sizes : chunkings) {
    DacStream stream(decoder_);
    std::vector<at::Tensor> parts;
    int64_t num_frames = 0;
    for (const int64_t size : sizes) {
      parts.push_back(stream.push(frames(num_frames, num_frames + size)));
      num_frames += size;
      EXPECT_EQ(stream.num_samples(),
                std::max<int64_t>(0, hop_ * num_frames - decoder_.lookahead()));
    }
    parts.push_back(stream.flush());
    EXPECT_EQ(stream.num_samples(), whole_.size(0));
    EXPECT_TRUE(at::equal(at::cat(parts), whole_)) << sizes.size() << " chunks";
  }
}

TEST_F(DacStreamTest, ShortClips) {
  for (const int64_t length : {0, 1, 2, 9, 10, 11}) {
    const at::Tensor expected = decoder_.decode(frames(0, length));
    ASSERT_EQ(expected.size(0), length * hop_);
    DacStream stream(decoder_);
    std::vector<at::Tensor> parts;
    for (int64_t i = 0; i < length; ++i) parts.push_back(stream.push(frames(i, i + 1)));
    parts.push_back(stream.flush());
    EXPECT_LE(max_difference(at::cat(parts), expected), 1e-5) << length;
  }
}

TEST_F(DacStreamTest, OtherStrides) {
  DacConfig config = small_dac_config();
  config.strides = {4, 6, 2};
  config.decoder_size = 24;
  const DacDecoder decoder = make_decoder(config);
  const at::Tensor codes = random_codes(config, 30);
  DacStream stream(decoder);
  std::vector<at::Tensor> parts;
  for (int64_t i = 0; i < 30; i += 5) {
    parts.push_back(stream.push(codes.narrow(1, i, 5)));
    EXPECT_EQ(stream.num_samples(), std::max<int64_t>(0, 48 * (i + 5) - decoder.lookahead()));
  }
  parts.push_back(stream.flush());
  EXPECT_LE(max_difference(at::cat(parts), decoder.decode(codes)), 1e-5);
}

TEST_F(DacStreamTest, ACopyGoesOnWithTheSameBits) {
  DacStream stream(decoder_);
  stream.push(frames(0, 13));
  DacStream saved = stream;
  const at::Tensor expected =
      at::cat({stream.push(frames(13, 20)), stream.push(frames(20, 40)), stream.flush()});
  // Another continuation of the same state, in between, changes nothing.
  DacStream other = saved;
  other.push(frames(30, 40));
  other.flush();
  const at::Tensor found =
      at::cat({saved.push(frames(13, 20)), saved.push(frames(20, 40)), saved.flush()});
  EXPECT_TRUE(at::equal(found, expected));
  EXPECT_LE(max_difference(found, whole_.narrow(0, whole_.size(0) - found.size(0), found.size(0))),
            1e-5);
}

TEST_F(DacStreamTest, ThreadsDoNotChangeBits) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  const at::Tensor found = decoder_.decode(codes_);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(found, whole_));
}

// What the presets "17 steps" and "25 steps" speak first.
TEST_F(DacStreamTest, AnEdgeIsTheClipUpToThere) {
  for (const int64_t length : {1, 9, 17}) {
    DacStream stream(decoder_);
    const at::Tensor found = stream.push_to_edge(frames(0, length));
    EXPECT_EQ(found.size(0), hop_ * length);
    EXPECT_LE(max_difference(found, decoder_.decode(frames(0, length))), 1e-5);
    EXPECT_EQ(stream.flush().size(0), 0);
  }
}

TEST_F(DacStreamTest, AfterAnEdgeSoundIsRightAgainWithoutAStep) {
  constexpr int64_t kFade = 220;  // 5 ms
  // All at once, and a frame at a time, for which the stream must first catch up with the edge.
  for (const int64_t size : {31, 1}) {
    DacStream stream(decoder_);
    const at::Tensor edge = stream.push_to_edge(frames(0, 9));
    std::vector<at::Tensor> parts;
    for (int64_t i = 9; i < 40; i += size) parts.push_back(stream.push(frames(i, i + size)));
    parts.push_back(stream.flush());
    const at::Tensor rest = at::cat(parts);
    ASSERT_EQ(edge.size(0) + rest.size(0), whole_.size(0));
    const at::Tensor right = whole_.narrow(0, edge.size(0), rest.size(0));
    const double step = (edge[-1] - whole_[edge.size(0) - 1]).item<double>();
    ASSERT_GT(std::abs(step), 0.01);
    EXPECT_NEAR((rest[0] - right[0]).item<double>(), step, 1e-4);
    EXPECT_LE(max_difference(rest.narrow(0, kFade, rest.size(0) - kFade),
                             right.narrow(0, kFade, rest.size(0) - kFade)),
              1e-5);
  }
}

TEST_F(DacStreamTest, EdgeAfterEdge) {
  DacStream stream(decoder_);
  std::vector<at::Tensor> parts;
  for (int64_t i = 0; i < 40; i += 8) {
    parts.push_back(stream.push_to_edge(frames(i, i + 8)));
    EXPECT_EQ(parts.back().size(0), 8 * hop_);
  }
  EXPECT_EQ(stream.flush().size(0), 0);
  // Each part is the clip that ends there but for the fade at its beginning.
  const at::Tensor third =
      decoder_.decode(frames(0, 24)).narrow(0, 16 * hop_ + 220, 8 * hop_ - 220);
  EXPECT_LE(max_difference(parts[2].narrow(0, 220, 8 * hop_ - 220), third), 1e-5);
}

TEST_F(DacStreamTest, MisuseIsABug) {
  DacStream stream(decoder_);
  EXPECT_THROW(stream.push(codes_.narrow(0, 0, 2)), Error);
  EXPECT_THROW(stream.push(codes_ + decoder_.config().codebook_size), Error);
  EXPECT_THROW(stream.push(codes_ - decoder_.config().codebook_size), Error);
  EXPECT_THROW(stream.push(codes_.to(at::kFloat)), Error);
  stream.flush();
  EXPECT_THROW(stream.push(codes_), Error);
  EXPECT_THROW(stream.push_to_edge(codes_), Error);
  EXPECT_THROW(stream.flush(), Error);
}

}  // namespace
}  // namespace predgen
