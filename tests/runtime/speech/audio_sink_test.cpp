#include "runtime/speech/audio_sink.h"

#include <gmock/gmock.h>
#include <sndfile.h>

#include <filesystem>
#include <numeric>
#include <thread>

#include "core/error.h"
#include "runtime/speech/make_audio_sink.h"
#include "runtime/speech/player_sink.h"
#include "runtime/speech/sample_ring.h"

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
    const auto sink = make_audio_sink(path, 8000);
    sink->write(std::vector<float>{0.5f, -0.25f});
    sink->clear();
    sink->write(std::vector<float>{3.0f, -3.0f});
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
  const auto sink = make_audio_sink(path, 8000);
  sink->write(std::vector<float>(5, 0.1f));
  EXPECT_EQ(read_wav(path).samples.size(), 5u);
  sink->write(std::vector<float>(7, 0.1f));
  EXPECT_EQ(read_wav(path).samples.size(), 12u);
  std::filesystem::remove(path);
}

TEST(MakeAudioSink, BadTargetsAreUserErrors) {
  EXPECT_THAT([] { make_audio_sink("/no/such/folder/a.wav", 8000); },
              ThrowsMessage<UserError>(HasSubstr("/no/such/folder/a.wav")));
  EXPECT_THAT([] { make_audio_sink("a.mp3", 8000); }, ThrowsMessage<UserError>(HasSubstr("a.mp3")));
}

TEST(MakeAudioSink, NoneTakesEverything) {
  const auto sink = make_audio_sink("none", 8000);
  sink->write(std::vector<float>(3));
  sink->drain();
}

TEST(PlayerSink, NoDeviceIsAUserErrorThatNamesTheWayOut) {
  testing::internal::CaptureStderr();
  std::string message;
  try {
    make_audio_sink("play", 22050);
  } catch (const UserError& error) {
    message = error.what();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  if (message.empty()) GTEST_SKIP() << "this machine has an audio device";
  EXPECT_THAT(message, HasSubstr("--audio-out FILE.wav"));
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
