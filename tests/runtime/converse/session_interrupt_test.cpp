#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/stop.h"
#include "runtime/speech/virtual_speaker.h"
#include "tests/fakes/fake_synthesizer.h"
#include "tests/fakes/playing_sink.h"
#include "tests/fakes/stage.h"

namespace predgen {
namespace {

using testing::HasSubstr;

/// Every sentence of "Yes I can. Go on!" is heard for a second, once it is said.
struct SpokenStage : Stage {
  SpokenStage() : Stage(TalkSetup{}) { voice.release_all(); }

  TurnResult run(std::vector<Transcript> transcripts, const TurnObserver& observer = {}) {
    ScheduledSource source(std::move(transcripts));
    return spoken.run_turn(source, observer).value();
  }
  /// When the sound of the answer to `text` begins.
  Seconds answer(const std::string& text, double time) {
    return Seconds(time + run({final_one(text, time)}).metrics.audio_latency.value());
  }
  std::string prompt_of(const TurnResult& result) const {
    return tokenizer.decode(result.prompt, /*keep_special=*/true);
  }

  FakeSynthesizer voice;
  PlayingSink sink{clock, FakeSynthesizer::kRate};
  Session spoken{
      session_config({}), engine, tokenizer,
      std::make_unique<VirtualSpeaker>(
          clock,
          VirtualSpeaker::Options{.cost = SpeechCost{}, .synthesizer = &voice, .sink = &sink},
          std::stop_token()),
      clock};
};

TEST(SessionInterrupt, TheHistoryHoldsTheWordsThatWereHeard) {
  const std::vector<std::pair<double, std::string>> cases{
      {0.5, "Yes I"}, {1, "Yes I can."}, {1.5, "Yes I can. Go"}, {2, "Yes I can. Go on!"}};
  for (const auto& [played, words] : cases) {
    SpokenStage stage;
    const Seconds begin = stage.answer("my friend", 1);
    stage.clock.sleep_until(begin + Seconds(played));
    EXPECT_EQ(stage.spoken.interrupt(), words) << played;
    EXPECT_EQ(stage.sink.num_queued(), 0) << "nothing more is heard";
    ASSERT_EQ(stage.spoken.history().size(), 2u);
    EXPECT_EQ(stage.spoken.history()[1].content, words);
    EXPECT_THAT(stage.prompt_of(stage.run({final_one("two", 9)})),
                HasSubstr("<user>my friend<end><assistant>" + words + "<end><user>two<end>"));
  }
}

TEST(SessionInterrupt, EachAnswerIsHeardFromItsOwnBeginning) {
  SpokenStage stage;
  stage.clock.sleep_until(stage.answer("my friend", 1) + Seconds(1.5));
  stage.spoken.interrupt();
  stage.clock.sleep_until(stage.answer("two", 9) + Seconds(0.5));
  EXPECT_EQ(stage.spoken.interrupt(), "Yes I");
  ASSERT_EQ(stage.spoken.history().size(), 4u);
  EXPECT_EQ(stage.spoken.history()[1].content, "Yes I can. Go");
}

TEST(SessionInterrupt, AnAnswerOfWhichNothingWasHeardIsForgotten) {
  SpokenStage stage;
  stage.answer("my friend", 1);
  EXPECT_EQ(stage.spoken.interrupt(Seconds(0)), "");
  EXPECT_TRUE(stage.spoken.history().empty());
  EXPECT_EQ(stage.spoken.interrupt(), "") << "there is none left";
}

TEST(SessionInterrupt, WhoPlaysTheSoundKnowsBetterThanTheSink) {
  SpokenStage stage;
  stage.answer("my friend", 1);
  stage.clock.sleep_until(Seconds(9));
  EXPECT_EQ(stage.spoken.interrupt(Seconds(1.5)), "Yes I can. Go");
  EXPECT_EQ(stage.spoken.history()[1].content, "Yes I can. Go");
  EXPECT_EQ(stage.spoken.interrupt(), "Yes I can. Go") << "it has not been heard since";
  EXPECT_EQ(stage.spoken.history()[1].content, "Yes I can. Go");
}

TEST(SessionInterrupt, AnAnswerThatWasHeardToItsEndStaysAsItIs) {
  SpokenStage stage;
  const TurnResult first = stage.run({final_one("my friend", 1)});
  stage.clock.sleep_until(Seconds(9));
  EXPECT_EQ(stage.spoken.interrupt(), first.text);
  EXPECT_FALSE(stage.spoken.history()[1].ids.empty());
}

TEST(SessionInterrupt, AnAnswerUnderWayIsRememberedAsFarAsItWasHeard) {
  SpokenStage stage;
  std::stop_source stop;
  std::string shown;
  TurnObserver observer;
  observer.on_text = [&](const std::string& text) {
    shown += text;
    if (!shown.ends_with("Go")) return;
    stage.clock.advance(Seconds(0.5));
    stop.request_stop();
  };
  ScheduledSource source({final_one("my friend", 1)});
  EXPECT_THROW(stage.spoken.run_turn(source, observer, stop.get_token()), Interrupted);
  EXPECT_EQ(shown, "Yes I can. Go");
  EXPECT_EQ(stage.sink.num_queued(), 0);
  ASSERT_EQ(stage.spoken.history().size(), 2u);
  EXPECT_EQ(stage.spoken.history()[1].content, "Yes I");
  EXPECT_EQ(stage.spoken.interrupt(), "Yes I");
}

TEST(SessionInterrupt, TheUserBreaksInWithTheNextTurn) {
  SpokenStage stage;
  const Seconds begin = stage.answer("my friend", 1);
  TurnObserver observer;
  observer.on_transcript = [&](const Transcript&) { stage.spoken.interrupt(); };
  const double time = begin.count() + 1.5;
  const TurnResult next = stage.run({partial("two", time), final_one("two", time + 4)}, observer);
  EXPECT_EQ(next.text, "Yes I can. Go on!");
  EXPECT_THAT(stage.prompt_of(next), HasSubstr("<assistant>Yes I can. Go<end><user>two<end>"));
}

TEST(SessionInterrupt, ATurnThatIsStoppedBeforeItsAnswerCutsTheOneBefore) {
  SpokenStage stage;
  const Seconds begin = stage.answer("my friend", 1);
  std::stop_source stop;
  TurnObserver observer;
  observer.on_draft = [&](const std::string&, size_t) { stop.request_stop(); };
  ScheduledSource source({partial("two", begin.count() + 0.5), final_one("two", 9)});
  EXPECT_THROW(stage.spoken.run_turn(source, observer, stop.get_token()), Interrupted);
  ASSERT_EQ(stage.spoken.history().size(), 2u);
  EXPECT_EQ(stage.spoken.history()[1].content, "Yes I");
}

TEST(SessionInterrupt, WithoutSoundWhatWasShownStays) {
  Stage stage({});
  const TurnResult result = stage.run({final_one("my friend", 1)});
  EXPECT_EQ(stage.session.interrupt(), result.text);
  EXPECT_EQ(stage.session.history()[1].content, result.text);
  EXPECT_EQ(stage.speaker.num_cancelled, 1);
}

}  // namespace
}  // namespace predgen
