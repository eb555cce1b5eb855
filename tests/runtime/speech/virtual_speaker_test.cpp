#include "runtime/speech/virtual_speaker.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/fakes/buffer_sink.h"
#include "tests/fakes/fake_synthesizer.h"

namespace predgen {
namespace {

using testing::IsEmpty;

/// First audio after 0.2 s, then 0.1 s for every character.
struct CostedSpeaker : testing::Test {
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  VirtualSpeaker speaker{clock, {.cost = SpeechCost{Seconds(0.2), Seconds(0.1)}}, {}};

  void at(double time) { clock.sleep_until(Seconds(time)); }
};

void expect_time(const std::optional<Seconds>& time, double expected) {
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->count(), expected, 1e-9);
}

TEST_F(CostedSpeaker, BaselineHearsTheSentenceAfterItsCost) {
  at(4);
  speaker.say("Hello.");
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.first_audio, 4.2);
  EXPECT_FALSE(report.ready_ahead);
  EXPECT_NEAR(clock.now().count(), 4.8, 1e-9);  // 0.2 + 6 characters
}

TEST_F(CostedSpeaker, PreparedSentenceIsHeardAtOnce) {
  at(1);
  speaker.prepare("Hello.");
  at(2);
  speaker.prepare("Hello.");  // nothing new
  at(4);
  speaker.say("Hello.");
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.first_audio, 4);
  expect_time(report.ready_ahead, 1.2);
  EXPECT_EQ(report.prepared, 1);
}

TEST_F(CostedSpeaker, LatePreparationSavesWhatItCan) {
  at(1);
  speaker.prepare("Hello.");
  at(1.125);
  speaker.say("Hello.");
  expect_time(speaker.finish_turn().first_audio, 1.2);
}

TEST_F(CostedSpeaker, ChangedSentenceFreesTheTimelineAtOnce) {
  at(1);
  speaker.prepare("Hello.");
  at(1.1);
  speaker.prepare("Bye.");
  at(1.2);
  speaker.say("Bye.");
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.first_audio, 1.3);
  EXPECT_EQ(report.prepared, 2);
}

TEST_F(CostedSpeaker, OverlappingSentencesQueueOnTheTimeline) {
  at(1);
  speaker.say("Hello.");      // 1 to 1.8
  speaker.prepare("Later.");  // would start at 1.8: never did
  at(1.5);
  speaker.say("Bye.");  // 1.8 to 2.4
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.first_audio, 1.2);
  EXPECT_EQ(report.prepared, 0);
  EXPECT_NEAR(clock.now().count(), 2.4, 1e-9);
}

TEST_F(CostedSpeaker, PreparedAfterASentenceStartsAfterIt) {
  at(1);
  speaker.say("Hello.");    // 1 to 1.8
  speaker.finish_turn();    // now 1.8
  speaker.prepare("Bye.");  // ready at 2
  at(1.9);
  speaker.say("Bye.");
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.first_audio, 2);
  expect_time(report.ready_ahead, 2);
}

TEST_F(CostedSpeaker, UnspeakableSentenceCostsNothing) {
  speaker.say("...");
  const SpeechReport report = speaker.finish_turn();
  EXPECT_FALSE(report.first_audio);
  EXPECT_EQ(report.sentences, 1);
  EXPECT_EQ(clock.now(), Seconds(0));
}

TEST_F(CostedSpeaker, CharactersAreCountedNotBytes) {
  speaker.say("\u4f60\u597d\u3002");
  speaker.finish_turn();
  EXPECT_NEAR(clock.now().count(), 0.5, 1e-9);
}

TEST_F(CostedSpeaker, ASentenceThatOnlyBeginsAsThePreparedOneIsSpokenAnew) {
  at(1);
  speaker.prepare("Yes, we can.");
  at(4);
  speaker.say("Yes, we did.");
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.first_audio, 4.2);
  EXPECT_FALSE(report.ready_ahead);
}

TEST(VirtualSpeaker, OnTheModelsDeviceTheModelWaitsForTheVoice) {
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  VirtualSpeaker speaker(clock,
                         {.cost = SpeechCost{Seconds(0.2), Seconds(0.1)}, .same_device = true}, {});
  clock.sleep_until(Seconds(1));
  speaker.prepare("Hello.");
  EXPECT_NEAR(clock.now().count(), 1.8, 1e-9);  // 0.2 + 6 characters, before anything else runs
  clock.sleep_until(Seconds(4));
  speaker.say("Hello.");
  EXPECT_NEAR(clock.now().count(), 4, 1e-9);
  speaker.say("Bye.");
  EXPECT_NEAR(clock.now().count(), 4.6, 1e-9);
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.first_audio, 4);
  expect_time(report.ready_ahead, 1.2);
}

TEST(VirtualSpeaker, OnTheModelsDeviceSoundIsHeardBeforeItsSentenceEnds) {
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  VirtualSpeaker speaker(clock,
                         {.cost = SpeechCost{Seconds(0.2), Seconds(0.1)}, .same_device = true}, {});
  speaker.say("Hello.");
  expect_time(speaker.finish_turn().first_audio, 0.2);
}

/// The voice takes 0.3 s of a hand-moved wall clock for every chunk; two chunks a sentence.
struct MeasuredSpeaker : testing::Test {
  MeasuredSpeaker() {
    voice.release_all();
    voice.before_chunk = [this](const std::string&, int) { wall += Seconds(0.3); };
  }
  void at(double time) { clock.sleep_until(Seconds(time)); }

  Seconds wall{100};
  FakeSynthesizer voice;
  BufferSink sink;
  std::stop_source stop;
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  VirtualSpeaker speaker{
      clock,
      {.synthesizer = &voice, .sink = &sink, .stopwatch = [this] { return wall; }},
      stop.get_token()};
};

TEST_F(MeasuredSpeaker, TimesAreThoseOfTheVoice) {
  at(1);
  speaker.prepare("A one.");
  EXPECT_THAT(sink.samples(), IsEmpty());
  at(4);
  speaker.say("A one.");  // heard at 4
  speaker.say("B two.");  // 4 to 4.6
  const SpeechReport report = speaker.finish_turn();
  expect_time(report.ready_ahead, 1.3);
  expect_time(report.first_audio, 4);
  EXPECT_NEAR(clock.now().count(), 4.6, 1e-9);
  auto audio = voice.audio_of("A one.");
  const auto second = voice.audio_of("B two.");
  audio.insert(audio.end(), second.begin(), second.end());
  EXPECT_EQ(sink.samples(), audio);
  EXPECT_EQ(voice.started(2).size(), 2u);
}

TEST_F(MeasuredSpeaker, CancelledSentenceFinishesTheChunkUnderWay) {
  at(1);
  speaker.prepare("A one.");  // chunks ready at 1.3 and 1.6
  at(1.1);
  speaker.say("B two.");  // starts at 1.3
  expect_time(speaker.finish_turn().first_audio, 1.6);
  EXPECT_EQ(sink.samples(), voice.audio_of("B two."));
}

TEST_F(MeasuredSpeaker, SentenceIsSynthesisedAheadOnlySoFar) {
  VirtualSpeaker careful{clock,
                         {.synthesizer = &voice,
                          .sink = &sink,
                          .ahead = {.steps = 1},
                          .stopwatch = [this] { return wall; }},
                         {}};
  at(1);
  careful.prepare("A one.");  // its first chunk, until 1.3
  EXPECT_EQ(voice.delivered(1).size(), 1u);
  at(4);
  careful.say("A one.");  // heard at once; the second chunk is there at 4.3
  careful.say("B two.");  // 4.3 to 4.9
  const SpeechReport report = careful.finish_turn();
  expect_time(report.ready_ahead, 1.3);
  expect_time(report.first_audio, 4);
  EXPECT_NEAR(clock.now().count(), 4.9, 1e-9);
  EXPECT_EQ(voice.started(2).size(), 2u);
}

TEST_F(MeasuredSpeaker, SentenceCancelledBeforeItsStartCostsNothing) {
  at(1);
  speaker.say("A one.");     // 1 to 1.6
  speaker.prepare("C no.");  // 1.6 to 2.2
  at(1.2);
  speaker.say("B two.");  // 1.6 to 2.2
  EXPECT_EQ(speaker.finish_turn().prepared, 0);
  EXPECT_NEAR(clock.now().count(), 2.2, 1e-9);
}

TEST_F(MeasuredSpeaker, AStopEndsTheSentenceAtItsNextStep) {
  voice.before_chunk = [this](const std::string&, int) { stop.request_stop(); };
  EXPECT_THROW(speaker.say("A one."), Interrupted);
  EXPECT_EQ(voice.delivered(1).size(), 1u);
}

TEST_F(MeasuredSpeaker, BrokenVoiceStopsTheMeasurement) {
  voice.fail_on = "A one.";
  EXPECT_THROW(speaker.say("A one."), std::runtime_error);
}

TEST(VirtualSpeaker, VoiceTimeDoesNotCountForTheLanguageModel) {
  VirtualClock clock(VirtualClock::Computation::kMeasured);
  FakeSynthesizer voice;
  voice.release_all();
  Seconds wall{0};
  voice.before_chunk = [&](const std::string&, int) { wall += Seconds(50); };
  VirtualSpeaker speaker(clock, {.synthesizer = &voice, .stopwatch = [&] { return wall; }}, {});
  clock.sleep_until(Seconds(1000));
  speaker.prepare("A one.");
  EXPECT_LT(clock.now().count(), 950);  // 100 s were taken out, though none had really passed
}

TEST(VirtualSpeaker, VoiceTimeCountsForAModelOnTheSameDevice) {
  VirtualClock clock(VirtualClock::Computation::kMeasured);
  FakeSynthesizer voice;
  voice.release_all();
  Seconds wall{0};
  voice.before_chunk = [&](const std::string&, int) { wall += Seconds(50); };
  VirtualSpeaker speaker(
      clock, {.synthesizer = &voice, .same_device = true, .stopwatch = [&] { return wall; }}, {});
  clock.sleep_until(Seconds(1000));
  speaker.prepare("A one.");
  EXPECT_GE(clock.now().count(), 1000);  // nothing was taken out
}

TEST(VirtualSpeaker, CostedRunStillWritesTheAudio) {
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  FakeSynthesizer voice;
  voice.release_all();
  BufferSink sink;
  VirtualSpeaker speaker(
      clock, {.cost = SpeechCost{Seconds(0.5), Seconds(0)}, .synthesizer = &voice, .sink = &sink},
      {});
  speaker.prepare("B no.");
  speaker.say("A one.");
  expect_time(speaker.finish_turn().first_audio, 0.5);
  EXPECT_EQ(sink.samples(), voice.audio_of("A one."));
}

TEST(VirtualSpeaker, VoiceGetsTheSpokenFormInItsLanguage) {
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  FakeSynthesizer voice;
  voice.language_code = "de";
  voice.release_all();
  VirtualSpeaker speaker(clock, {.synthesizer = &voice}, {});
  speaker.prepare("```py\nx.y\n```");
  speaker.say("```py\nx.y\n```");
  speaker.say("**Tiere**, z.B. Katzen");
  speaker.finish_turn();
  EXPECT_THAT(voice.started(2),
              testing::ElementsAre("Code ausgelassen.", "Tiere, zum Beispiel Katzen"));
}

TEST(VirtualSpeaker, NeedsACostTableOrAVoice) {
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  EXPECT_THROW(VirtualSpeaker(clock, {}, {}), UserError);
}

}  // namespace
}  // namespace predgen
