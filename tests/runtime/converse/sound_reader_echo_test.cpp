#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "audio/echo/echo_cancelling_source.h"
#include "runtime/converse/sound_reader.h"
#include "tests/fakes/echoing_room.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/fakes/told_conversation.h"

namespace predgen {
namespace {

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
struct EchoingTalk {
  explicit EchoingTalk(AudioSource& source)
      : audio(source),
        turns({.make_recogniser = desk.make,
               .sample_rate = kRoomRate,
               .end = {.is_detected = true, .silence_ms = 500}},
              told, clock, stop.get_token()),
        reader(audio, turns, clock, stop.get_token()) {}
  ~EchoingTalk() { audio.end(); }

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
  ToldConversation told;
  Conversation turns;
  size_t begin = 0;   // of the utterance
  int64_t until = 0;  // where the last voice was
  SoundReader reader;
};

TEST(SoundReaderEcho, AnAnswerDoesNotInterruptItselfAndTheUserDoes) {
  if (!has_echo_canceller()) GTEST_SKIP() << "no speexdsp";
  PlayedSound played;
  played.begin(kRoomRate);
  auto given = std::make_unique<EchoingRoom>(EchoingRoom::Config{}, played);
  EchoingRoom& room = *given;
  EchoCancellingSource source(std::move(given), played);
  EchoingTalk talk(source);
  const std::stop_token breaks_in = talk.ask(room);
  room.loudspeaker().push(speech_like(20, 1));
  EXPECT_FALSE(talk.hear(10, "so the story begins"));
  EXPECT_FALSE(breaks_in.stop_requested());
  room.say(speech_like(1, 2));
  EXPECT_TRUE(talk.hear(1, "wait, stop"));
  EXPECT_TRUE(breaks_in.stop_requested());
}

TEST(SoundReaderEcho, WithoutItAnAnswerInterruptsItself) {
  PlayedSound played;
  played.begin(kRoomRate);
  EchoingRoom room({}, played);
  EchoingTalk talk(room);
  const std::stop_token breaks_in = talk.ask(room);
  room.loudspeaker().push(speech_like(20, 1));
  talk.hear(1, "so the story begins");
  EXPECT_TRUE(breaks_in.stop_requested());
}

}  // namespace
}  // namespace predgen
