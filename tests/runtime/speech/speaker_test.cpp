#include "runtime/speech/speaker.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "runtime/speech/virtual_speaker.h"
#include "tests/fakes/fake_synthesizer.h"
#include "tests/fakes/playing_sink.h"

namespace predgen {
namespace {

/// Calls a function whenever somebody sleeps.
struct SleepingClock : VirtualClock {
  SleepingClock() : VirtualClock(Computation::kCostTable) {}
  void sleep_until(Seconds time) override {
    VirtualClock::sleep_until(time);
    if (on_sleep) on_sleep();
  }
  std::function<void()> on_sleep;
};

/// An answer of two seconds of sound, all of which is queued.
struct Queued {
  Queued() {
    voice.release_all();
    speaker.say("Yes.");
    speaker.say("No.");
    speaker.finish_turn();
  }
  void wait() { wait_until_heard(speaker, clock, stop.get_token()); }

  SleepingClock clock;
  FakeSynthesizer voice;
  PlayingSink sink{clock, FakeSynthesizer::kRate};
  std::stop_source stop;
  VirtualSpeaker speaker{
      clock, {.cost = SpeechCost{}, .synthesizer = &voice, .sink = &sink}, std::stop_token()};
};

TEST(WaitUntilHeard, ReturnsWithTheLastSample) {
  Queued queued;
  queued.wait();
  EXPECT_NEAR(queued.clock.now().count(), 2, 0.021);
}

TEST(WaitUntilHeard, AStopEndsItWithin20Milliseconds) {
  Queued queued;
  queued.clock.on_sleep = [&] {
    if (queued.clock.now() >= Seconds(0.5)) queued.stop.request_stop();
  };
  EXPECT_THROW(queued.wait(), Interrupted);
  EXPECT_NEAR(queued.clock.now().count(), 0.5, 0.021);
}

TEST(WaitUntilHeard, APauseMakesItLongerAndADeadDeviceDoesNot) {
  Queued queued;
  queued.clock.on_sleep = [&] {
    const double now = queued.clock.now().count();
    queued.sink.set_gain(now >= 0.5 && now < 1 ? 0.0f : 1.0f);
  };
  queued.wait();
  EXPECT_NEAR(queued.clock.now().count(), 2.5, 0.05);

  Queued dead;
  dead.clock.on_sleep = [&] {
    if (dead.clock.now() >= Seconds(0.5)) dead.sink.set_gain(0);
  };
  dead.wait();
  EXPECT_NEAR(dead.clock.now().count(), 1.5, 0.05);
}

TEST(WaitUntilHeard, WithoutSoundThereIsNothingToWaitFor) {
  SleepingClock clock;
  wait_until_heard(SilentSpeaker(), clock, {});
  EXPECT_EQ(clock.now(), Seconds(0));
}

}  // namespace
}  // namespace predgen
