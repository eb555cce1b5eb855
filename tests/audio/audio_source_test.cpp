#include "audio/audio_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <limits>
#include <thread>

#include "audio/audio_microphone.h"
#include "audio/audio_pipe_source.h"
#include "audio/make_audio_source.h"
#include "audio/sample_encoding.h"
#include "core/error.h"
#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/pipe.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

struct WrittenSound {
  WrittenSound(int rate, int channels, int format, const std::vector<float>& samples) {
    SF_INFO info{};
    info.samplerate = rate;
    info.channels = channels;
    info.format = SF_FORMAT_WAV | format;
    SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
    sf_command(file, SFC_SET_CLIPPING, nullptr, SF_TRUE);
    sf_write_float(file, samples.data(), static_cast<sf_count_t>(samples.size()));
    sf_close(file);
  }
  TemporaryFolder folder;
  std::filesystem::path path = folder / "sound.wav";
};

std::vector<float> read_all(AudioSource& source) {
  std::vector<float> samples;
  for (auto block = source.read(); !block.empty(); block = source.read()) {
    samples.insert(samples.end(), block.begin(), block.end());
  }
  return samples;
}

TEST(AudioFileSource, ChannelsOfAnyRateAndFormatAreMixed) {
  for (const int format : {SF_FORMAT_PCM_16, SF_FORMAT_FLOAT, SF_FORMAT_PCM_24}) {
    for (const int rate : {8000, 16000, 44100, 48000}) {
      std::vector<float> stereo;
      for (int i = 0; i < rate / 10; ++i) stereo.insert(stereo.end(), {0.5f, -0.25f});
      const WrittenSound file(rate, 2, format, stereo);
      ManualClock clock;
      AudioFileSource source(file.path, clock);
      EXPECT_EQ(source.sample_rate(), rate);
      const std::vector<float> samples = read_all(source);
      EXPECT_EQ(samples.size(), static_cast<size_t>(rate / 10));
      EXPECT_THAT(samples, Each(FloatNear(0.125f, 1e-4f)));
      EXPECT_NEAR(clock.now().count(), 0.1, 1e-9);
      EXPECT_TRUE(source.read().empty());
    }
  }
}

TEST(AudioFileSource, ABlockComesWhenItWouldHaveBeenSpoken) {
  const WrittenSound file(16000, 1, SF_FORMAT_PCM_16, std::vector<float>(16000 + 100));
  ManualClock clock;
  AudioFileSource source(file.path, clock);
  clock.set(5);  // the first call is the beginning
  EXPECT_EQ(source.read().size(), 320u);
  EXPECT_DOUBLE_EQ(clock.now().count(), 5.02);
  source.read();
  EXPECT_DOUBLE_EQ(clock.now().count(), 5.04);
  clock.set(5.5);  // whoever reads was late: what is there comes at once
  source.read();
  EXPECT_DOUBLE_EQ(clock.now().count(), 5.5);
  read_all(source);
  EXPECT_NEAR(clock.now().count(), 5 + 16100.0 / 16000, 1e-9);
}

TEST(AudioFileSource, WhatIsTooLoudOrNoNumberStaysInRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  const WrittenSound file(16000, 1, SF_FORMAT_FLOAT, {2, -3, NAN, infinity, -infinity, 0.5f});
  ManualClock clock;
  AudioFileSource source(file.path, clock);
  EXPECT_THAT(read_all(source), ElementsAre(1, -1, 0, 0, 0, 0.5f));
}

TEST(AudioFileSource, WhatIsNoSoundIsTheUsersError) {
  ManualClock clock;
  const TemporaryFolder folder;
  const auto open = [&](const std::filesystem::path& path) {
    return [&clock, path] { AudioFileSource source(path, clock); };
  };
  expect_user_error(open(folder / "none.wav"), {"none.wav: no such file"});
  expect_user_error(open(folder.path()), {"no such file"});
  write_file(folder / "text.wav", "hello");
  expect_user_error(open(folder / "text.wav"), {"text.wav: cannot be read as sound"});
  write_file(folder / "empty.wav", "");
  expect_user_error(open(folder / "empty.wav"), {"empty.wav: "});
  const WrittenSound silent(16000, 1, SF_FORMAT_PCM_16, {});
  expect_user_error(open(silent.path), {"holds no sound"});
  const WrittenSound slow(4000, 1, SF_FORMAT_PCM_16, {0, 0});
  expect_user_error(open(slow.path), {"4000 Hz"});
}

TEST(AudioFileSource, AFileThatIsCutOffEndsEarly) {
  const WrittenSound whole(16000, 1, SF_FORMAT_PCM_16, std::vector<float>(16000, 0.5f));
  const std::string bytes = read_file(whole.path);
  write_file(whole.path, bytes.substr(0, bytes.size() / 2));
  ManualClock clock;
  AudioFileSource source(whole.path, clock);
  const size_t count = read_all(source).size();
  EXPECT_GT(count, 7000u);
  EXPECT_LT(count, 9000u);
}

TEST(AudioPipeSource, SamplesComeAsTheyAreWritten) {
  Pipe pipe;
  ManualClock clock;
  AudioPipeSource source(pipe.out(), 16000, clock, {});
  const std::vector<int16_t> values(480, 8192);
  pipe.send(std::string(bytes_of(values)) + "x");  // half a sample at the end
  pipe.end();
  const auto first = source.read();
  EXPECT_EQ(first.size(), 320u);
  EXPECT_THAT(first, Each(FloatNear(0.25f, 1e-4f)));
  EXPECT_EQ(source.read().size(), 160u);
  EXPECT_DOUBLE_EQ(clock.now().count(), 0.03);
  EXPECT_TRUE(source.read().empty());
}

TEST(AudioPipeSource, WhatAProgramThatRecordsHasWrittenAlreadyIsHeardAtOnce) {
  Pipe pipe;
  ManualClock clock;
  AudioPipeSource source(pipe.out(), 16000, clock, {});
  const std::string block(bytes_of(std::vector<int16_t>(320, 8192)));
  for (int i = 0; i < 50; ++i) pipe.send(block);  // a second, while models were loaded
  for (int i = 0; i < 50; ++i) EXPECT_EQ(source.read().size(), 320u);
  for (int i = 0; i < 5; ++i) {
    pipe.send(block);
    EXPECT_EQ(source.read().size(), 320u);
  }
  EXPECT_EQ(clock.now(), Seconds(0));
}

TEST(AudioPipeSource, AFileThatAProgramWritesFasterIsHeardInItsOwnTime) {
  Pipe pipe;
  ManualClock clock;
  AudioPipeSource source(pipe.out(), 16000, clock, {});
  const std::string second(bytes_of(std::vector<int16_t>(16000, 8192)));
  std::jthread other([&] {
    for (int i = 0; i < 8; ++i) pipe.send(second);
    pipe.end();
  });
  EXPECT_EQ(read_all(source).size(), 8u * 16000);
  EXPECT_NEAR(clock.now().count(), 8, 1e-9);
}

TEST(AudioPipeSource, AWavFileIsOneInAPipeToo) {
  for (const int format : {SF_FORMAT_PCM_16, SF_FORMAT_FLOAT, SF_FORMAT_PCM_24, SF_FORMAT_PCM_U8}) {
    for (const int rate : {16000, 24000}) {
      std::vector<float> stereo;
      for (int i = 0; i < rate; ++i) stereo.insert(stereo.end(), {0.5f, -0.25f});
      const WrittenSound file(rate, 2, format, stereo);
      std::string bytes = read_file(file.path);
      for (const bool is_finished : {true, false}) {
        if (!is_finished) bytes.replace(bytes.find("data") + 4, 4, "\xff\xff\xff\xff");
        Pipe pipe;
        ManualClock clock;
        AudioPipeSource source(pipe.out(), 16000, clock, {});
        std::jthread other([&] {
          pipe.send(bytes);
          pipe.end();
        });
        const std::vector<float> samples = read_all(source);
        EXPECT_NEAR(static_cast<double>(samples.size()), 16000, 2) << format << " " << rate;
        EXPECT_NEAR(samples[8000], 0.125f, 0.01f);
        EXPECT_NEAR(samples[20], 0.125f, 0.05f) << "the head is no sound";
      }
    }
  }
}

TEST(AudioPipeSource, AWavFileInAnotherFormatIsTheUsersError) {
  Pipe pipe;
  ManualClock clock;
  AudioPipeSource source(pipe.out(), 16000, clock, {});
  const WrittenSound file(8000, 1, SF_FORMAT_ULAW, {0, 0});
  pipe.send(read_file(file.path));
  pipe.end();
  expect_user_error([&] { source.read(); }, {"16-bit PCM"});
}

TEST(AudioPipeSource, AStopEndsItsWait) {
  const Pipe pipe;
  ManualClock clock;
  std::stop_source stop;
  AudioPipeSource source(pipe.out(), 16000, clock, stop.get_token());
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_THROW(source.read(), Interrupted);
}

TEST(AudioPipeSource, ARateIsOneOfSound) {
  ManualClock clock;
  expect_user_error([&] { AudioPipeSource(0, 10, clock, {}); }, {"10 Hz"});
}

TEST(MakeAudioSource, AFileIsTheDefault) {
  const WrittenSound file(8000, 1, SF_FORMAT_PCM_16, {0, 0});
  ManualClock clock;
  EXPECT_EQ(make_audio_source(file.path, 16000, clock, {})->sample_rate(), 8000);
  EXPECT_EQ(make_audio_source("-", 24000, clock, {})->sample_rate(), 24000);
  expect_user_error([&] { make_audio_source("micro.wav", 16000, clock, {}); }, {"no such file"});
}

// Machines that run tests have no microphone, or one that nobody speaks into.
TEST(Microphone, OneThatIsNotThereIsNamedWithThoseThatAre) {
  ManualClock clock;
  expect_user_error([&] { make_audio_source("mic:no such device", 16000, clock, {}); },
                    {"microphone"});
}

}  // namespace
}  // namespace predgen
