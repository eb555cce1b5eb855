#include "audio/echo/echo_cancelling_source.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/fakes/echoing_room.h"

namespace predgen {
namespace {

using Choice = EchoGuard::Choice;

/// So many frames of these loudnesses; the last choice.
Choice pass(EchoGuard& guard, int num_frames, float played, float heard, float cleaned) {
  const auto frame = [](float loudness) { return std::vector<float>(160, loudness); };
  Choice choice = Choice::kHeard;
  for (int i = 0; i < num_frames; ++i) {
    choice = guard.choose(frame(played), frame(heard), frame(cleaned));
  }
  return choice;
}

TEST(EchoGuard, SoundIsAsItIsHeardWhereNothingIsPlayed) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 1000, 0, 0.3f, 0.01f), Choice::kHeard);
  EXPECT_FALSE(guard.has_learnt());
}

TEST(EchoGuard, NothingIsHeardWhileSomethingIsPlayedUntilTheEchoIsGone) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 1, 0.1f, 0.1f, 0.1f), Choice::kNothing);
  EXPECT_EQ(pass(guard, 300, 0.1f, 0.1f, 0.05f), Choice::kNothing);  // 6 dB
  EXPECT_EQ(pass(guard, 49, 0, 0.1f, 0.05f), Choice::kNothing);      // it may sound still
  EXPECT_EQ(pass(guard, 1, 0, 0.1f, 0.05f), Choice::kHeard);
  EXPECT_EQ(pass(guard, 200, 0.1f, 0.1f, 0.01f), Choice::kCleaned);  // 20 dB
  EXPECT_TRUE(guard.has_learnt());
}

TEST(EchoGuard, ASecondIsTheLeastToLearnFrom) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 99, 0.1f, 0.1f, 0), Choice::kNothing);
  EXPECT_EQ(pass(guard, 1, 0.1f, 0.1f, 0), Choice::kCleaned);
}

TEST(EchoGuard, WhoSpeaksOverItLaterIsHeard) {
  EchoGuard guard;
  pass(guard, 200, 0.1f, 0.1f, 0.01f);
  EXPECT_EQ(pass(guard, 200, 0.1f, 0.3f, 0.3f), Choice::kCleaned);
  EXPECT_EQ(pass(guard, 400, 0.1f, 0.1f, 0.01f), Choice::kCleaned);
  EXPECT_EQ(pass(guard, 200, 0.1f, 0.3f, 0.3f), Choice::kCleaned);
  EXPECT_EQ(pass(guard, 500, 0.1f, 0.3f, 0.3f), Choice::kNothing);  // that is the echo, come back
  EXPECT_EQ(pass(guard, 400, 0.1f, 0.1f, 0.01f), Choice::kCleaned);
  guard.forget();
  EXPECT_EQ(pass(guard, 500, 0.1f, 0.3f, 0.3f), Choice::kNothing);
}

TEST(EchoGuard, AnEchoThatNobodyHearsIsGone) {
  EchoGuard guard;
  EXPECT_EQ(pass(guard, 100, 0.1f, 0.0009f, 0.0009f), Choice::kCleaned);
  EchoGuard loud_room;
  pass(loud_room, 3000, 0, 0.02f, 0.02f);
  EXPECT_EQ(pass(loud_room, 100, 0.1f, 0.03f, 0.019f), Choice::kCleaned);
  EchoGuard after_speech;
  pass(after_speech, 3000, 0, 0.001f, 0.001f);
  pass(after_speech, 100, 0, 0.1f, 0.1f);
  EXPECT_EQ(pass(after_speech, 100, 0.1f, 0.03f, 0.019f), Choice::kNothing);
}

TEST(EchoGuard, WhoBreaksInOftenIsHeardStill) {
  EchoGuard guard;
  pass(guard, 200, 0.1f, 0.1f, 0.01f);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pass(guard, 200, 0.1f, 0.3f, 0.3f), Choice::kCleaned);
    EXPECT_EQ(pass(guard, 200, 0, 0.3f, 0.3f), Choice::kHeard);
  }
}

constexpr size_t kHeardFrame = EchoCanceller::kFrame;

/// What comes out of a room, with what was heard and said there at the same time.
struct EchoTalk {
  explicit EchoTalk(const EchoingRoom::Config& config = {}) {
    played.begin(kRoomRate);
    auto given = std::make_unique<EchoingRoom>(config, played);
    room = given.get();
    source.emplace(std::move(given), played);
  }

  void hear(double seconds) {
    const size_t end = output.size() + static_cast<size_t>(seconds * kRoomRate);
    while (output.size() < end) {
      const std::span<const float> block = source->read();
      output.insert(output.end(), block.begin(), block.end());
    }
  }
  void play(double seconds, unsigned seed) { room->loudspeaker().push(speech_like(seconds, seed)); }

  /// Of the last seconds: how much of the echo and noise is gone, in dB.
  double loss(double seconds) const {
    const Last last(*this, seconds);
    std::vector<float> before, after;
    for (size_t i = 0; i < last.output.size(); ++i) {
      before.push_back(last.all[i] - last.said[i]);
      after.push_back(last.output[i] - last.said[i]);
    }
    return decibels(energy(before), energy(after));
  }
  double energy_of_output(double seconds) const { return energy(Last(*this, seconds).output); }

  struct Last {
    Last(const EchoTalk& talk, double seconds) {
      const auto count = static_cast<size_t>(seconds * kRoomRate);
      const size_t begin = talk.output.size() - count;  // a frame later than what was heard
      output = std::span(talk.output).subspan(begin, count);
      all = std::span(talk.room->all).subspan(begin - kHeardFrame, count);
      said = std::span(talk.room->said).subspan(begin - kHeardFrame, count);
    }
    std::span<const float> output, all, said;
  };

  PlayedSound played;
  EchoingRoom* room = nullptr;
  std::optional<EchoCancellingSource> source;
  std::vector<float> output;
};

class EchoCancelling : public testing::Test {
  void SetUp() override {
    if (!has_echo_canceller()) GTEST_SKIP() << "no speexdsp";
  }
};

TEST_F(EchoCancelling, WithNothingPlayedSoundPassesAsItIs) {
  EchoTalk talk;
  talk.hear(0.5);
  talk.room->say(speech_like(2, 3));
  talk.hear(2);
  const EchoTalk::Last last(talk, 1.5);
  for (size_t i = 0; i < last.output.size(); ++i) ASSERT_EQ(last.output[i], last.all[i]) << i;
}

TEST_F(EchoCancelling, SilenceStaysSilence) {
  EchoTalk talk({.noise = 0});
  talk.hear(2);
  EXPECT_EQ(talk.energy_of_output(1.9), 0);
}

TEST_F(EchoCancelling, TheEchoIsGoneAfterTwoSecondsAndStaysSo) {
  EchoTalk talk;
  talk.hear(1);
  talk.play(2, 1);
  talk.hear(2);
  talk.play(8, 2);
  talk.hear(1);
  EXPECT_TRUE(talk.source->has_learnt());
  EXPECT_GT(talk.loss(1), 20);
  talk.hear(7);
  EXPECT_GT(talk.loss(6), 20);
  talk.hear(3);  // a pause
  talk.play(2, 3);
  talk.hear(2);
  EXPECT_GT(talk.loss(2), 20);
}

TEST_F(EchoCancelling, WhoSpeaksOverAnAnswerIsHeard) {
  EchoTalk talk;
  talk.play(12, 1);
  talk.hear(6);
  talk.room->say(speech_like(4, 2, 0.06f));
  talk.hear(4);
  const EchoTalk::Last last(talk, 3.5);
  EXPECT_NEAR(decibels(energy(last.output), energy(last.said)), 0, 2);
  EXPECT_GT(talk.loss(3.5), 6);
}

TEST_F(EchoCancelling, NothingIsHeardOverAnAnswerUntilTheRoomIsKnown) {
  EchoTalk talk;
  talk.hear(0.5);
  talk.play(1, 1);
  talk.room->say(speech_like(4, 2));
  talk.hear(1);
  EXPECT_FALSE(talk.source->has_learnt());
  EXPECT_LT(talk.energy_of_output(0.9), 1e-9);
  talk.hear(1.5);  // it is over
  const EchoTalk::Last last(talk, 0.5);
  for (size_t i = 0; i < last.output.size(); ++i) ASSERT_EQ(last.output[i], last.all[i]);
}

TEST_F(EchoCancelling, AnInterruptedAnswerIsNoLongerPlayed) {
  EchoTalk talk;
  talk.play(20, 1);
  talk.hear(5);
  talk.room->loudspeaker().clear();
  talk.hear(1.5);
  talk.room->say(speech_like(1, 2));
  talk.hear(1);
  const EchoTalk::Last last(talk, 0.9);
  for (size_t i = 0; i < last.output.size(); ++i) ASSERT_EQ(last.output[i], last.all[i]);
}

TEST_F(EchoCancelling, DevicesThatAreLateByMuchOrByTurnsChangeNothing) {
  for (const int piece_ms : {5, 20, 80}) {
    for (const int delay_ms : {5, 60}) {
      std::mt19937 random(1);
      EchoTalk talk(
          {.delay_ms = delay_ms, .piece_ms = piece_ms, .buffer_ms = 2 * piece_ms, .late_ms = [&] {
             return static_cast<int>(random() % 40);
           }});
      talk.hear(2);
      talk.play(20, 1);
      talk.hear(8);
      EXPECT_TRUE(talk.source->has_learnt());
      EXPECT_GT(talk.loss(4), 20) << piece_ms << ' ' << delay_ms;
    }
  }
}

TEST_F(EchoCancelling, ALoudspeakerThatStandsStillForATenthOfASecondIsLearntAnew) {
  int late = 0;
  EchoTalk talk({.late_ms = [&] { return late; }});
  talk.play(40, 1);
  talk.hear(5);
  late = 100;
  talk.hear(1);
  late = 0;
  talk.hear(8);
  EXPECT_TRUE(talk.source->has_learnt());
  EXPECT_GT(talk.loss(2), 20);
}

TEST_F(EchoCancelling, ClocksThatDifferALittleAreFollowed) {
  for (const double drift : {-5e-6, 5e-6}) {
    EchoTalk talk({.drift = drift});
    talk.play(20, 1);
    talk.hear(15);
    EXPECT_TRUE(talk.source->has_learnt());
    EXPECT_GT(talk.loss(8), 15) << drift;
  }
}

TEST_F(EchoCancelling, AMicrophoneOfAnotherRateIsConverted) {
  struct Fast : AudioSource {
    int sample_rate() const override { return 48'000; }
    std::span<const float> read() override { return block; }
    std::vector<float> block = std::vector<float>(960, 0.5f);
  };
  PlayedSound played;
  played.begin(kRoomRate);
  EchoCancellingSource source(std::make_unique<Fast>(), played);
  EXPECT_EQ(source.sample_rate(), 16'000);
  size_t count = 0;
  float last = 0;
  for (int i = 0; i < 50; ++i) {
    const std::span<const float> block = source.read();
    count += block.size();
    last = block.back();
  }
  EXPECT_NEAR(static_cast<double>(count), 16'000, 400);
  EXPECT_NEAR(last, 0.5f, 0.01f);
}

TEST_F(EchoCancelling, TheEndOfTheSoundIsPassedOn) {
  struct Over : AudioSource {
    int sample_rate() const override { return kRoomRate; }
    std::span<const float> read() override { return {}; }
  };
  PlayedSound played;
  played.begin(kRoomRate);
  EchoCancellingSource source(std::make_unique<Over>(), played);
  EXPECT_TRUE(source.read().empty());
}

}  // namespace
}  // namespace predgen
