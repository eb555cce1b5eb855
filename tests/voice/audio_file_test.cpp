#include "voice/audio_file.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <limits>
#include <vector>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

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
