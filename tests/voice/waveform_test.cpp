#include "voice/waveform.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/files.h"
#include "tensors/safetensors.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"
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

/// `samples`: interleaved.
void write_sound(const std::filesystem::path& file, int format, int rate, int channels,
                 const std::vector<float>& samples) {
  SF_INFO info{};
  info.samplerate = rate;
  info.channels = channels;
  info.format = format;
  SNDFILE* opened = sf_open(file.c_str(), SFM_WRITE, &info);
  ASSERT_NE(opened, nullptr) << sf_strerror(nullptr);
  sf_write_float(opened, samples.data(), static_cast<sf_count_t>(samples.size()));
  sf_close(opened);
}

TEST(WavReaderTest, ReadsAnyFormat) {
  const TemporaryFolder folder;
  const std::vector<float> samples{0.5f, -0.25f, 0.125f, 0, -0.5f, 0.75f};
  const at::Tensor expected = at::tensor(samples).view({3, 2}).t();
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_PCM_U8,
                           SF_FORMAT_WAV | SF_FORMAT_PCM_24, SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                           SF_FORMAT_FLAC | SF_FORMAT_PCM_16}) {
    write_sound(folder / "a.wav", format, 48000, 2, samples);
    const Waveform read = read_audio_file(folder / "a.wav");
    EXPECT_EQ(read.sample_rate, 48000);
    EXPECT_EQ(read.name, (folder / "a.wav").string());
    ASSERT_EQ(read.samples_CN.sizes(), (at::IntArrayRef{2, 3}));
    EXPECT_TRUE(at::allclose(read.samples_CN, expected, 0, 0.01)) << format;  // 8 bits
  }
  write_sound(folder / "b.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 8000, 6,
              std::vector<float>(600'000, 0.5f));
  EXPECT_EQ(read_audio_file(folder / "b.wav").samples_CN.sizes(), (at::IntArrayRef{6, 100'000}));
}

TEST(WavReaderTest, RefusesFiles) {
  const TemporaryFolder folder;
  expect_user_error([&] { read_audio_file(folder / "none.wav"); }, {"none.wav", "no such file"});
  expect_user_error([&] { read_audio_file(folder.path()); },
                    {folder.path().string(), "no such file"});
  write_file(folder / "text.wav", "not a sound at all, but some words in a row");
  expect_user_error([&] { read_audio_file(folder / "text.wav"); },
                    {"text.wav", "cannot be read as sound"});
  write_file(folder / "empty.wav", "");
  expect_user_error([&] { read_audio_file(folder / "empty.wav"); }, {"empty.wav", "is empty"});
  write_sound(folder / "zero.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, {});
  expect_user_error([&] { read_audio_file(folder / "zero.wav"); }, {"zero.wav", "no sound"});
  write_sound(folder / "nan.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1,
              {0, std::numeric_limits<float>::quiet_NaN()});
  expect_user_error([&] { mono_at(read_audio_file(folder / "nan.wav"), 16000); },
                    {"nan.wav", "finite"});
}

}  // namespace
}  // namespace predgen
