#include "runtime/speech/threaded_speaker.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/error.h"
#include "tests/fakes/buffer_sink.h"
#include "tests/fakes/fake_synthesizer.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/playing_sink.h"
#include "tests/fakes/waiting.h"

#ifndef __SANITIZE_THREAD__  // which has one of its own
#include <dlfcn.h>
#include <pthread.h>

namespace {
std::atomic<int> threads_left = -1;  // that the system lets begin; negative: any number
}

/// Instead of the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*routine)(void*), void* argument) {
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, routine, argument);
}
#endif

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Names = FakeSynthesizer::Names;

struct ThreadedSpeakerTest : testing::Test {
  explicit ThreadedSpeakerTest(int num_chunks = 2) : voice(num_chunks) {}
  ~ThreadedSpeakerTest() override { voice.release_all(); }  // lets a failed test end

  std::vector<float> audio_of(const Names& sentences) const {
    std::vector<float> audio;
    for (const auto& sentence : sentences) {
      const auto more = voice.audio_of(sentence);
      audio.insert(audio.end(), more.begin(), more.end());
    }
    return audio;
  }

  ManualClock clock;
  BufferSink sink;
  FakeSynthesizer voice;
};

#ifndef __SANITIZE_THREAD__
TEST_F(ThreadedSpeakerTest, ThreadsThatCannotBeginAreAnErrorOnly) {
  for (const int count : {0, 1}) {
    threads_left = count;
    EXPECT_THROW(ThreadedSpeaker(voice, sink, clock, {}, {}), std::system_error) << count;
    threads_left = -1;
  }
}
#endif

TEST_F(ThreadedSpeakerTest, KeptSentencePlaysFromItsBuffer) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  clock.set(1);
  speaker.prepare("A one.");
  voice.release(2);
  voice.finished(1);
  EXPECT_THAT(sink.samples(), IsEmpty());
  clock.set(5);
  speaker.prepare("A one.");  // again: nothing new
  speaker.say("A one.");
  const SpeechReport report = speaker.finish_turn();
  EXPECT_EQ(sink.samples(), audio_of({"A one."}));
  EXPECT_THAT(voice.started(1), ElementsAre("A one."));
  EXPECT_EQ(report.ready_ahead, Seconds(1));
  EXPECT_EQ(report.first_audio, Seconds(5));
  EXPECT_EQ(report.sentences, 1);
  EXPECT_EQ(report.prepared, 1);
}

TEST_F(ThreadedSpeakerTest, ACancelledTurnIsNotHeardAndLeavesNothing) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.say("A one.");
  speaker.say("B two.");
  voice.release(1);
  sink.wait_for(FakeSynthesizer::kChunk);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(speaker.finish_turn(stop.get_token()), Interrupted);
  speaker.cancel_turn();
  EXPECT_THAT(sink.samples(), IsEmpty());
  voice.release_all();
  clock.set(9);
  speaker.say("C three.");
  const SpeechReport report = speaker.finish_turn();
  EXPECT_EQ(sink.samples(), audio_of({"C three."}));
  EXPECT_EQ(report.first_audio, Seconds(9));
  EXPECT_EQ(report.sentences, 1);
}

/// Paused, with no room left: a write ends when it is given up.
struct FullSink : BufferSink {
  void write(std::span<const float>) override {
    is_full = true;
    comes_true([&] { return gives_up.load(); });
  }
  void give_up() override { gives_up = true; }
  std::atomic<bool> is_full = false, gives_up = false;
};

TEST_F(ThreadedSpeakerTest, CancelEndsAWriteThatWaitsForRoom) {
  FullSink full;
  ThreadedSpeaker speaker(voice, full, clock, {}, {});
  voice.release_all();
  speaker.say("A one.");
  ASSERT_TRUE(comes_true([&] { return full.is_full.load(); }));
  speaker.cancel_turn();
  EXPECT_TRUE(full.gives_up);
}

TEST_F(ThreadedSpeakerTest, TellsWhatOfItsAnswerWasPlayed) {
  PlayingSink player(clock, FakeSynthesizer::kRate);
  ThreadedSpeaker speaker(voice, player, clock, {}, {});
  speaker.prepare("A one.");
  voice.release(2);
  voice.finished(1);
  EXPECT_THAT(speaker.spoken()->sentences, IsEmpty()) << "nothing was said";
  speaker.say("A one.");
  speaker.say("B two.");
  voice.release(1);
  player.wait_for(3 * FakeSynthesizer::kChunk);
  clock.set(0.75);
  const SpokenAnswer before = speaker.spoken().value();
  ASSERT_EQ(before.sentences.size(), 2u);
  EXPECT_EQ(before.sentences[0].text, "A one.");
  EXPECT_EQ(before.sentences[0].length, Seconds(1));
  EXPECT_TRUE(before.sentences[0].is_whole);
  EXPECT_EQ(before.sentences[1].length, Seconds(0.5));
  EXPECT_FALSE(before.sentences[1].is_whole);
  EXPECT_EQ(before.played, Seconds(0.75));
  speaker.cancel_turn();
  clock.set(7);
  EXPECT_EQ(speaker.spoken()->played, Seconds(0.75)) << "the rest is dropped";
  EXPECT_EQ(speaker.spoken()->sentences.size(), 2u);
  voice.release_all();
  speaker.say("C three.");
  speaker.finish_turn();
  clock.set(7.5);
  EXPECT_EQ(speaker.spoken()->sentences.size(), 1u);
  EXPECT_EQ(speaker.spoken()->played, Seconds(0.5)) << "of this answer";
}

TEST_F(ThreadedSpeakerTest, TellsWhenThePreparedSentenceIsReady) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  EXPECT_FALSE(speaker.is_ready_ahead());
  speaker.prepare("A one.");
  EXPECT_FALSE(speaker.is_ready_ahead());
  voice.release(2);
  voice.finished(1);
  speaker.prepare("B two.");
  EXPECT_FALSE(speaker.is_ready_ahead()) << "another sentence";
  voice.release_all();  // lets the speaker end
}

TEST_F(ThreadedSpeakerTest, BufferIsHeardWhileItsSentenceIsStillSynthesised) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("A one.");
  voice.release(1);
  voice.delivered(1);
  speaker.say("A one.");
  sink.wait_for(FakeSynthesizer::kChunk);  // the second chunk does not exist yet
  voice.release(1);
  speaker.finish_turn();
  EXPECT_EQ(sink.samples(), audio_of({"A one."}));
  EXPECT_THAT(voice.started(1), ElementsAre("A one."));
}

TEST_F(ThreadedSpeakerTest, SentencesAreSpokenInOrder) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("A one.");
  for (const char* sentence : {"A one.", "B two.", "C three.", "B two."}) speaker.say(sentence);
  voice.release_all();
  const SpeechReport report = speaker.finish_turn();
  EXPECT_EQ(sink.samples(), audio_of({"A one.", "B two.", "C three.", "B two."}));
  EXPECT_EQ(report.sentences, 4);
}

TEST_F(ThreadedSpeakerTest, SayingAnotherSentenceDropsThePreparedOne) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("A one.");
  voice.release(2);
  voice.finished(1);
  clock.set(3);
  speaker.say("B two.");
  voice.release(2);
  const SpeechReport report = speaker.finish_turn();
  EXPECT_EQ(sink.samples(), audio_of({"B two."}));
  EXPECT_FALSE(report.ready_ahead);
  EXPECT_EQ(report.first_audio, Seconds(3));
}

TEST_F(ThreadedSpeakerTest, ASentenceThatOnlyBeginsAsThePreparedOneIsSpokenAnew) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("Yes, we can.");
  voice.release(2);
  voice.finished(1);
  speaker.say("Yes, we did.");
  voice.release(2);
  EXPECT_FALSE(speaker.finish_turn().ready_ahead);
  EXPECT_THAT(voice.started(2), ElementsAre("Yes, we can.", "Yes, we did."));
}

struct LongSentence : ThreadedSpeakerTest {
  LongSentence() : ThreadedSpeakerTest(6) {}
};

TEST_F(LongSentence, ChangedIsCancelledWithinOneStep) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("A one.");
  voice.release(1);
  voice.delivered(1);
  speaker.prepare("B two.");
  voice.release(1);  // the step under way
  EXPECT_THAT(voice.cancelled(1), ElementsAre("A one."));
  EXPECT_THAT(voice.started(2), ElementsAre("A one.", "B two."));
  voice.release_all();
  speaker.say("B two.");
  const SpeechReport report = speaker.finish_turn();
  EXPECT_EQ(sink.samples(), audio_of({"B two."}));
  EXPECT_EQ(report.prepared, 2);
}

TEST_F(LongSentence, IsSynthesisedAheadOnlySoFar) {
  ThreadedSpeaker speaker(voice, sink, clock, {.audio = Seconds(1)}, {});  // two chunks
  voice.release_all();
  speaker.prepare("A one.");
  voice.delivered(2);
  speaker.prepare("B two.");
  EXPECT_THAT(voice.cancelled(1), ElementsAre("A one."));
  EXPECT_THAT(voice.delivered(4), ElementsAre("A one.", "A one.", "B two.", "B two."));
  speaker.say("B two.");  // goes on where it stopped
  speaker.finish_turn();
  EXPECT_THAT(voice.started(2), ElementsAre("A one.", "B two."));
  EXPECT_EQ(voice.delivered(8).size(), 8u);
  EXPECT_EQ(sink.samples(), audio_of({"B two."}));
}

TEST_F(LongSentence, IsSynthesisedAheadOnlySoManySteps) {
  ThreadedSpeaker speaker(voice, sink, clock, {.steps = 3}, {});
  voice.release_all();
  speaker.prepare("A one.");
  voice.delivered(3);
  speaker.prepare("B two.");
  EXPECT_EQ(voice.delivered(6).size(), 6u);
  speaker.prepare("C three.");
  EXPECT_THAT(voice.cancelled(2), ElementsAre("A one.", "B two."));
  speaker.finish_turn();
  EXPECT_THAT(sink.samples(), IsEmpty());
}

TEST_F(ThreadedSpeakerTest, SynthesisGivesWayToTheModelBetweenSteps) {
  std::mutex mutex;
  std::vector<std::string> log;
  const auto note = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    log.push_back(what);
  };
  voice.before_chunk = [&](const std::string&, int) { note("step"); };
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.say("A one.");
  voice.started(1);
  speaker.give_way(true);
  voice.release_all();
  voice.delivered(1);  // was under way
  note("free");
  speaker.give_way(false);
  speaker.finish_turn();
  EXPECT_THAT(log, ElementsAre("step", "free", "step"));
}

TEST_F(ThreadedSpeakerTest, FinishDropsWhatWasNotSaidAndStartsAfresh) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("A one.");
  voice.release(2);
  voice.finished(1);
  EXPECT_EQ(speaker.finish_turn().prepared, 1);
  EXPECT_THAT(sink.samples(), IsEmpty());
  voice.release(2);
  speaker.say("A one.");
  const SpeechReport report = speaker.finish_turn();
  EXPECT_EQ(voice.started(2).size(), 2u);
  EXPECT_EQ(report.prepared, 0);
  EXPECT_EQ(report.sentences, 1);
}

TEST_F(ThreadedSpeakerTest, EveryTurnReportsItsOwnUnderruns) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  voice.release_all();
  sink.underruns = 2;
  speaker.say("A one.");
  EXPECT_EQ(speaker.finish_turn().underruns, 2);
  EXPECT_FALSE(sink.expects);  // silence between turns is none
  EXPECT_EQ(speaker.finish_turn().underruns, 0);
  sink.underruns = 5;
  EXPECT_EQ(speaker.finish_turn().underruns, 3);
}

TEST_F(ThreadedSpeakerTest, BrokenVoiceLeavesTheTurnAsText) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  voice.release_all();
  voice.fail_on = "A one.";
  speaker.say("A one.");
  voice.started(1);
  const SpeechReport report = speaker.finish_turn();
  EXPECT_FALSE(report.first_audio);
  EXPECT_EQ(report.sentences, 1);
  speaker.say("B two.");  // the next turn tries again
  EXPECT_TRUE(speaker.finish_turn().first_audio);
  EXPECT_EQ(sink.samples(), audio_of({"B two."}));
}

TEST_F(ThreadedSpeakerTest, BrokenSinkDoesNotStopTheTurn) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  voice.release_all();
  sink.fail = true;
  speaker.say("A one.");
  speaker.say("B two.");
  EXPECT_EQ(speaker.finish_turn().sentences, 2);
  EXPECT_THAT(sink.samples(), IsEmpty());
}

TEST_F(ThreadedSpeakerTest, UnspeakableSentenceIsNotPrepared) {
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("...");
  EXPECT_EQ(speaker.finish_turn().prepared, 0);
}

TEST_F(ThreadedSpeakerTest, VoiceGetsTheSpokenFormInItsLanguage) {
  voice.language_code = "de";
  voice.release_all();
  ThreadedSpeaker speaker(voice, sink, clock, {}, {});
  speaker.prepare("```py\nx.y\n```");
  speaker.say("```py\nx.y\n```");
  speaker.say("**Tiere**, z.B. Katzen");
  speaker.finish_turn();
  EXPECT_THAT(voice.started(2), ElementsAre("Code ausgelassen.", "Tiere, zum Beispiel Katzen"));
}

TEST_F(ThreadedSpeakerTest, AStopEndsTheWaitForASlowVoice) {
  alarm(60);  // ends a test that hangs
  std::stop_source stop;
  ThreadedSpeaker speaker(voice, sink, clock, {}, stop.get_token());
  speaker.say("A one.");  // waits for a release that does not come
  voice.started(1);
  const std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_THROW(speaker.finish_turn(), Interrupted);
  voice.release_all();
  alarm(0);
}

TEST_F(ThreadedSpeakerTest, ATurnWhoseSinkWasStoppedIsNotATurnThatWasSpoken) {
  /// A sink that waits for its reader, and whose wait a stop ends.
  struct StoppedSink : BufferSink {
    explicit StoppedSink(std::stop_source given) : stop(std::move(given)) {}
    void write(std::span<const float>) override {
      stop.request_stop();
      throw Interrupted();
    }
    std::stop_source stop;
  };
  std::stop_source stop;
  StoppedSink stopped(stop);
  ThreadedSpeaker speaker(voice, stopped, clock, {}, stop.get_token());
  voice.release_all();
  speaker.say("A one.");
  EXPECT_THROW(speaker.finish_turn(), Interrupted);
}

}  // namespace
}  // namespace predgen
