#include "audio/audio_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sndfile.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

#include "audio/make_audio_sink.h"
#include "audio/player_sink.h"
#include "audio/resampler.h"
#include "audio/sample_ring.h"
#include "core/error.h"
#include "tests/fakes/buffer_sink.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/pipe.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct Wav {
  int rate = 0, channels = 0;
  std::vector<float> samples;
};

Wav read_wav(const std::filesystem::path& path) {
  SF_INFO info{};
  SNDFILE* file = sf_open(path.c_str(), SFM_READ, &info);
  if (file == nullptr) return {};
  Wav wav{info.samplerate, info.channels, std::vector<float>(static_cast<size_t>(info.frames))};
  sf_read_float(file, wav.samples.data(), info.frames);
  sf_close(file);
  return wav;
}

std::filesystem::path temporary(const char* name) {
  return std::filesystem::path(testing::TempDir()) / name;
}

TEST(WavSink, HoldsTheSamplesClipped) {
  const auto path = temporary("predgen_clipped.wav");
  {
    const auto sink = make_audio_sink(path, 8000, 0, {});
    sink->write(std::vector<float>{0.5f, -0.25f});
    sink->clear();
    sink->write(std::vector<float>{3.0f, -3.0f});
    EXPECT_EQ(sink->num_played(), 4);
  }
  const Wav wav = read_wav(path);
  EXPECT_EQ(wav.rate, 8000);
  EXPECT_EQ(wav.channels, 1);
  EXPECT_THAT(wav.samples,
              testing::Pointwise(testing::FloatNear(1e-4f), {0.5f, -0.25f, 1.0f, -1.0f}));
  std::filesystem::remove(path);
}

TEST(WavSink, FileIsValidBeforeItIsClosed) {
  const auto path = temporary("predgen_open.wav");
  const auto sink = make_audio_sink(path, 8000, 0, {});
  sink->write(std::vector<float>(5, 0.1f));
  EXPECT_EQ(read_wav(path).samples.size(), 5u);
  sink->write(std::vector<float>(7, 0.1f));
  EXPECT_EQ(read_wav(path).samples.size(), 12u);
  std::filesystem::remove(path);
}

TEST(MakeAudioSink, BadTargetsAreUserErrors) {
  EXPECT_THAT([] { make_audio_sink("/no/such/folder/a.wav", 8000, 0, {}); },
              ThrowsMessage<UserError>(HasSubstr("/no/such/folder/a.wav")));
  EXPECT_THAT([] { make_audio_sink("a.mp3", 8000, 0, {}); },
              ThrowsMessage<UserError>(HasSubstr("a.mp3")));
}

TEST(MakeAudioSink, NoneTakesEverything) {
  const auto sink = make_audio_sink("none", 8000, 0, {});
  sink->write(std::vector<float>(3));
  sink->drain();
  EXPECT_EQ(sink->num_played(), 3);
}

TEST(PlayerSink, NoDeviceIsAUserErrorThatNamesTheWayOut) {
  testing::internal::CaptureStderr();
  std::string message;
  try {
    make_audio_sink("play", 22050, 0, {});
  } catch (const UserError& error) {
    message = error.what();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  if (message.empty()) GTEST_SKIP() << "this machine has an audio device";
  EXPECT_THAT(message, HasSubstr("--audio-out FILE.wav"));
}

TEST(PcmSink, WritesLittleEndian16BitClipped) {
  Pipe pipe;
  PcmSink(pipe.in(), 8000, {}).write(std::vector<float>{0.5f, -0.25f, 3.0f, -3.0f});
  pipe.end();
  std::vector<unsigned char> bytes(16);
  bytes.resize(static_cast<size_t>(read(pipe.out(), bytes.data(), bytes.size())));
  EXPECT_THAT(bytes, ElementsAre(0, 0x40, 0, 0xE0, 0xFF, 0x7F, 0, 0x80));
}

TEST(PcmSink, ReportsAFullOrClosedOutput) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  PcmSink sink(full, 8000, {});
  EXPECT_THAT([&] { sink.write(std::vector<float>(10)); },
              ThrowsMessage<Error>(HasSubstr("No space left")));
  EXPECT_EQ(sink.num_played(), 0);
  close(full);
}

TEST(PcmSink, AReaderThatEndsIsAnErrorAndNotTheEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  PcmSink sink(ends[1], 8000, {});
  close(ends[0]);
  EXPECT_THAT([&] { sink.write(std::vector<float>(10)); },
              ThrowsMessage<Error>(HasSubstr("Broken pipe")));
  close(ends[1]);
}

TEST(PcmSink, AStopEndsAWriteThatNobodyReads) {
  alarm(60);  // ends a test that hangs
  Pipe pipe;
  std::stop_source source;
  std::jthread stopper([&] {
    pollfd first_samples{.fd = pipe.out(), .events = POLLIN, .revents = 0};
    poll(&first_samples, 1, /*timeout=*/-1);
    source.request_stop();
  });
  PcmSink sink(pipe.in(), 8000, source.get_token());
  EXPECT_THROW(sink.write(std::vector<float>(1'000'000)), Interrupted);
  alarm(0);
}

TEST(PcmSink, WhatWasWrittenIsPlayedInItsOwnTime) {
  Pipe pipe;
  ManualClock clock;
  PcmSink sink(pipe.in(), 8000, {}, &clock);
  clock.set(10);
  sink.write(std::vector<float>(8000));
  EXPECT_EQ(sink.num_played(), 0);
  clock.set(10.25);
  EXPECT_EQ(sink.num_played(), 2000);
  sink.write(std::vector<float>(800));
  clock.set(11);
  EXPECT_EQ(sink.num_played(), 8000);
  clock.set(20);
  EXPECT_EQ(sink.num_played(), 8800);
}

TEST(PcmSink, AWriteThatNobodyReadsIsGivenUp) {
  alarm(60);  // ends a test that hangs
  Pipe pipe;
  PcmSink sink(pipe.in(), 8000, {});
  std::jthread other([&] {
    pollfd first_samples{.fd = pipe.out(), .events = POLLIN, .revents = 0};
    poll(&first_samples, 1, /*timeout=*/-1);
    sink.give_up();
  });
  sink.write(std::vector<float>(1'000'000));
  alarm(0);
}

/// One second of a 440 Hz tone.
std::vector<float> tone_at(int rate) {
  std::vector<float> samples(static_cast<size_t>(rate));
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] =
        0.5f * static_cast<float>(std::sin(2 * M_PI * 440 * static_cast<double>(i) / rate));
  }
  return samples;
}

TEST(ResamplingSink, KeepsToneLengthAndLevel) {
  for (const auto& [from, to] :
       {std::pair{44100, 48000}, std::pair{44100, 16000}, std::pair{22050, 44100}}) {
    auto owned = std::make_unique<BufferSink>();
    const BufferSink& sink = *owned;
    ResamplingSink resampler(std::move(owned), from, to);
    const std::vector<float> input = tone_at(from);
    for (std::span<const float> rest = input; !rest.empty();) {
      const size_t n = std::min<size_t>(rest.size(), 700);
      resampler.write(rest.first(n));
      rest = rest.subspan(n);
    }
    resampler.drain();
    const std::vector<float> output = sink.samples(), expected = tone_at(to);
    ASSERT_NEAR(static_cast<double>(output.size()), to, 2) << from << " to " << to;
    for (size_t i = 500; i + 500 < expected.size(); ++i) {
      ASSERT_NEAR(output[i], expected[i], 2e-3) << from << " to " << to << " at " << i;
    }
  }
}

TEST(ResamplingSink, NothingOldIsHeardAfterClear) {
  auto owned = std::make_unique<BufferSink>();
  const BufferSink& sink = *owned;
  ResamplingSink resampler(std::move(owned), 8000, 16000);
  resampler.write(std::vector<float>(1000, 0.5f));
  resampler.clear();
  resampler.write(std::vector<float>(1000, 0.0f));
  resampler.drain();
  EXPECT_THAT(sink.samples(), testing::Each(0.0f));
}

TEST(ResamplingSink, WhatWasPlayedIsInSamplesOfItsInput) {
  auto owned = std::make_unique<BufferSink>();
  const BufferSink& sink = *owned;
  ResamplingSink resampler(std::move(owned), 8000, 16000);
  resampler.write(std::vector<float>(1000, 0.5f));
  EXPECT_EQ(resampler.num_played(), std::llround(static_cast<double>(sink.num_played()) / 2));
  EXPECT_LT(resampler.num_played(), 1000) << "some are in its filter";
  resampler.drain();
  EXPECT_NEAR(static_cast<double>(resampler.num_played()), 1000, 1);
}

TEST(PlaybackBuffer, CountsWhatTheDeviceHasTaken) {
  PlaybackBuffer buffer(8);
  std::vector<float> device(2);
  buffer.push(std::vector<float>{1, 2, 3, 4, 5});
  EXPECT_EQ(buffer.num_played(), 0);
  buffer.fill(device);
  EXPECT_EQ(buffer.num_played(), 2);
  buffer.set_gain(0);
  buffer.fill(device);
  EXPECT_EQ(buffer.num_played(), 2);
  buffer.set_gain(1);
  buffer.clear();
  buffer.fill(device);
  EXPECT_EQ(buffer.num_played(), 2) << "what was dropped is not played";
  buffer.push(std::vector<float>{6});
  buffer.fill(device);
  EXPECT_EQ(buffer.num_played(), 3) << "silence is no sample of ours";
}

TEST(PlaybackBuffer, GetsSofterAndLouderWithoutAClickAndFromWhereItWas) {
  PlaybackBuffer buffer(64);
  buffer.set_ramp(4);
  std::vector<float> device(6);
  buffer.push(std::vector<float>(30, 1.0f));
  buffer.set_gain(0.25f);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0.75f, 0.5f, 0.25f, 0.25f, 0.25f, 0.25f));
  buffer.set_gain(1);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0.5f, 0.75f, 1, 1, 1, 1));
  EXPECT_EQ(buffer.num_played(), 12);
  buffer.set_gain(0);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0.75f, 0.5f, 0.25f, 0, 0, 0));
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(buffer.num_played(), 15) << "what could be heard";
  buffer.set_gain(1);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0.25f, 0.5f, 0.75f, 1, 1, 1));
  EXPECT_EQ(buffer.num_played(), 21);
  EXPECT_EQ(buffer.num_underruns(), 0);
}

TEST(PlaybackBuffer, APauseThatEndsOnItsWayLosesNothing) {
  PlaybackBuffer buffer(64);
  buffer.set_ramp(4);
  std::vector<float> device(2);
  buffer.push(std::vector<float>(8, 1.0f));
  buffer.set_gain(0);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0.75f, 0.5f));
  buffer.set_gain(1);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0.75f, 1));
  EXPECT_EQ(buffer.num_played(), 4);
}

TEST(PlaybackBuffer, TellsWhatItPlaysWithItsSilence) {
  PlayedSound played;
  EXPECT_EQ(played.sample_rate(), 0);
  played.begin(8);
  PlaybackBuffer buffer(8, &played);
  std::vector<float> device(2), told(16);
  buffer.push(std::vector<float>{1, 2, 3, 4, 5});
  buffer.fill(device);
  buffer.set_gain(0);
  buffer.fill(device);
  buffer.set_gain(1);
  buffer.fill(device);
  buffer.clear();
  buffer.fill(device);
  told.resize(played.take(told));
  EXPECT_THAT(told, ElementsAre(1, 2, 0, 0, 3, 4, 0, 0));
  EXPECT_EQ(played.num_losses(), 0);
  for (int i = 0; i < 20; ++i) buffer.fill(device);  // 5 s, and nobody takes it
  EXPECT_GT(played.num_losses(), 0);
  told.resize(100);
  EXPECT_LE(played.take(told), 16u);
}

TEST(PlaybackBuffer, PausesWithoutLossAndCountsGaps) {
  PlaybackBuffer buffer(8);
  std::vector<float> device(2);
  buffer.fill(device);
  EXPECT_EQ(buffer.num_underruns(), 0);  // nothing was expected
  buffer.push(std::vector<float>{1, 2, 3, 4, 5});
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(1, 2));
  buffer.set_gain(0);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0, 0));
  buffer.set_gain(1);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(3, 4));
  EXPECT_EQ(buffer.num_underruns(), 0);
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(5, 0));
  EXPECT_EQ(buffer.num_underruns(), 1);
  buffer.push(std::vector<float>{6, 7, 8});
  buffer.clear();
  buffer.fill(device);
  EXPECT_THAT(device, ElementsAre(0, 0));
  EXPECT_EQ(buffer.num_underruns(), 1);
}

TEST(SampleRing, TakesWhatFitsAndGivesItBackInOrder) {
  SampleRing ring(4);
  EXPECT_EQ(ring.push(std::vector<float>{1, 2, 3}), 3u);
  std::vector<float> out(2);
  EXPECT_EQ(ring.pop(out), 2u);
  EXPECT_THAT(out, ElementsAre(1, 2));
  EXPECT_EQ(ring.push(std::vector<float>{4, 5, 6, 7}), 3u);
  EXPECT_EQ(ring.size(), 4u);
  out.assign(8, 0);
  EXPECT_EQ(ring.pop(out), 4u);
  EXPECT_THAT(out, ElementsAre(3, 4, 5, 6, 0, 0, 0, 0));
}

TEST(SampleRing, NothingOldIsHeardAfterClear) {
  SampleRing ring(4);
  ring.push(std::vector<float>{1, 2, 3});
  ring.clear();
  EXPECT_EQ(ring.size(), 0u);
  // A reader may still be copying the dropped samples: their places are not reused before a pop.
  EXPECT_EQ(ring.push(std::vector<float>{4, 5}), 1u);
  std::vector<float> out(4);
  EXPECT_EQ(ring.pop(out), 1u);
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(ring.push(std::vector<float>{5, 6, 7, 8}), 4u);
}

TEST(SampleRing, TwoThreadsLoseNothing) {
  SampleRing ring(64);
  std::vector<float> sent(20000), got;
  std::iota(sent.begin(), sent.end(), 0.0f);
  std::thread reader([&] {
    std::vector<float> chunk(37);
    while (got.size() < sent.size()) {
      const size_t n = ring.pop(chunk);
      got.insert(got.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n));
      if (n == 0) std::this_thread::yield();
    }
  });
  for (std::span<const float> rest = sent; !rest.empty();) {
    const size_t n = ring.push(rest.first(std::min<size_t>(rest.size(), 51)));
    rest = rest.subspan(n);
    if (n == 0) std::this_thread::yield();
  }
  reader.join();
  EXPECT_EQ(got, sent);
}

}  // namespace
}  // namespace predgen
