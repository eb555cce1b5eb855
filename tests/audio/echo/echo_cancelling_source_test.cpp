#include "audio/echo/echo_cancelling_source.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "hear/spoken_turns.h"
#include "tests/fakes/echoing_room.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/recogniser_desk.h"

namespace predgen {
namespace {

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

/// Another source, as far as the test lets it.
class InSteps : public AudioSource {
 public:
  explicit InSteps(AudioSource& source) : source_(source) {}
  int sample_rate() const override { return source_.sample_rate(); }
  std::span<const float> read() override {
    std::unique_lock lock(mutex_);
    waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return num_left_ > 0 || is_over_; });
    waits_ = false;
    if (is_over_) return {};
    --num_left_;
    return source_.read();
  }

  /// Returns when the next block was heard.
  void step() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waits_; });
    waits_ = false;
    ++num_left_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return waits_; });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

 private:
  AudioSource& source_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int num_left_ = 0;
  bool waits_ = false, is_over_ = false;
};

/// A conversation in a room, with a recogniser that takes whatever is loud for words.
struct Conversation {
  explicit Conversation(AudioSource& source)
      : audio(source),
        turns(desk.make, audio, {.end = {.is_detected = true, .silence_ms = 500}}, clock,
              stop.get_token()) {}
  ~Conversation() { audio.end(); }

  /// Whether something was loud.
  bool hear(double seconds, const std::string& words) {
    bool was_loud = false;
    for (double time = 0; time < seconds; time += 0.02) {
      audio.step();
      clock.set(clock.now().count() + 0.02);
      const std::span<const float> block = std::span(desk.samples).last(320);
      const bool is_loud = energy(block) / 320 > 1e-4;  // -40 dB
      const auto now = static_cast<int64_t>(desk.samples.size() - begin);
      if (is_loud) until = now;
      if (is_loud || was_loud) tell(words, now - until < kRoomRate / 10);
      was_loud = was_loud || is_loud;
    }
    return was_loud;
  }
  void tell(const std::string& words, bool is_active) {
    desk.handler->on_segment(
        desk.utterance,
        {.text = words,
         .is_over = !is_active,
         .voice =
             HeardVoice{.is_active = is_active, .since = 0, .until = until, .is_in_words = true}});
  }
  /// What is asked is answered from now on; the token says that the user breaks in.
  std::stop_token ask(EchoingRoom& room) {
    const std::stop_token breaks_in = turns.begin_turn();
    room.say(speech_like(1, 5));
    hear(2, "tell me a story");
    std::optional<Transcript> heard;
    for (int64_t revision = 0; !heard || !heard->is_final; revision = heard->revision) {
      heard = turns.wait_newer(revision, clock);
    }
    ++desk.utterance;
    begin = desk.samples.size();
    until = 0;
    return breaks_in;
  }

  InSteps audio;
  RecogniserDesk desk;
  ManualClock clock;
  std::stop_source stop;
  SpokenTurns turns;
  size_t begin = 0;   // of the utterance
  int64_t until = 0;  // where the last voice was
};

TEST_F(EchoCancelling, AnAnswerDoesNotInterruptItselfAndTheUserDoes) {
  PlayedSound played;
  played.begin(kRoomRate);
  auto given = std::make_unique<EchoingRoom>(EchoingRoom::Config{}, played);
  EchoingRoom& room = *given;
  EchoCancellingSource source(std::move(given), played);
  Conversation conversation(source);
  const std::stop_token breaks_in = conversation.ask(room);
  room.loudspeaker().push(speech_like(20, 1));
  EXPECT_FALSE(conversation.hear(10, "so the story begins"));
  EXPECT_FALSE(breaks_in.stop_requested());
  room.say(speech_like(1, 2));
  EXPECT_TRUE(conversation.hear(1, "wait, stop"));
  EXPECT_TRUE(breaks_in.stop_requested());
}

TEST_F(EchoCancelling, WithoutItAnAnswerInterruptsItself) {
  PlayedSound played;
  played.begin(kRoomRate);
  EchoingRoom room({}, played);
  Conversation conversation(room);
  const std::stop_token breaks_in = conversation.ask(room);
  room.loudspeaker().push(speech_like(20, 1));
  conversation.hear(1, "so the story begins");
  EXPECT_TRUE(breaks_in.stop_requested());
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
