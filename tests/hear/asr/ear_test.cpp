#include "hear/asr/ear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "tests/fakes/spoken_sound.h"

namespace predgen::ears {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// An ear and a decoder on a virtual clock, which is the sound: a decode takes `cost` windows.
struct Listening {
  explicit Listening(int64_t cost_of_decode, const DecoderPace& pace = {})
      : cost(cost_of_decode), ear(hear_loudness, pace) {}

  void hear(const std::vector<float>& sound) {
    for (size_t i = 0; i < sound.size(); i += kWindow) {
      ear.add(std::span(sound).subspan(i, std::min<size_t>(kWindow, sound.size() - i)));
      ++now;
      tell();
      work();
    }
  }
  void finish() {
    ear.finish();
    tell();
    while (!ear.is_done()) {
      ++now;
      work();
    }
  }
  void work() {
    if (job && can_stop && ear.is_late()) {
      ear.end_decode(*job, std::nullopt);
      job.reset();
      ++num_stopped;
    }
    if (job && now >= due) {
      const bool is_sure = job->is_careful || job->need == Need::kPartial || !doubts_pauses;
      ear.end_decode(*job, Decoded{.text = words_in(job->sound),
                                   .is_end = is_end,
                                   .is_sure = is_sure,
                                   .certainties = certainties});
      job.reset();
      tell();
    }
    if (job || ear.need() == Need::kNothing) return;
    job = ear.begin_decode();
    needs.push_back(job->need);
    num_careful += job->is_careful ? 1 : 0;
    lengths.push_back(std::ssize(job->sound));
    due = now + cost;
  }
  void tell() {
    while (const auto news = ear.take_news()) {
      all.push_back(*news);
      if (news->is_over) finals.push_back(news->text);
    }
  }
  /// The texts that were told one after the other, without repetitions; a pause that grows behind
  /// the last segment is told without one.
  std::vector<std::string> texts() const {
    std::vector<std::string> different;
    for (const RecognisedSegment& one : all) {
      if (one.text.empty()) continue;
      if (different.empty() || one.text != different.back()) different.push_back(one.text);
    }
    return different;
  }

  const int64_t cost;
  Ear ear;
  int64_t now = 0, due = 0;  // windows
  std::optional<DecodeJob> job;
  bool is_end = false, can_stop = true, doubts_pauses = false;
  std::vector<double> certainties;
  int num_careful = 0;
  int num_stopped = 0;
  std::vector<Need> needs;
  std::vector<int64_t> lengths;
  std::vector<RecognisedSegment> all;
  std::vector<std::string> finals;
};

std::vector<float> spoken(int first, int last, int64_t silence_before, int64_t silence_behind) {
  std::vector<float> sound;
  pause(sound, silence_before);
  say(sound, first, last);
  pause(sound, silence_behind);
  return sound;
}

TEST(Ear, WhileSomebodySpeaksAnUnsureLastWordIsNotTold) {
  Listening to(3);
  to.certainties = {0.9, 0.2};
  to.hear(spoken(1, 4, 30, 30));
  EXPECT_THAT(to.texts(), ElementsAre("1", "1 2", "1 2 3 4."));
  to.certainties = {0.2, 0.4};
  to.hear(spoken(1, 4, 30, 0));
  EXPECT_THAT(to.texts(), ElementsAre("1", "1 2", "1 2 3 4.", "1", "1 2", "1 2 3"));
}

TEST(Ear, AnUnsureLastWordIsNotLostWhereTheSoundEnds) {
  Listening to(8);
  to.certainties = {0.2};
  to.hear(spoken(1, 3, 30, 0));
  ASSERT_TRUE(to.job) << "a partial is running";
  to.finish();
  EXPECT_THAT(to.finals, ElementsAre("1 2 3."));
}

TEST(Ear, SilenceIsNeitherToldNorDecoded) {
  Listening to(1);
  to.hear(spoken(1, 0, 500, 0));
  EXPECT_THAT(to.all, IsEmpty());
  to.finish();
  EXPECT_THAT(to.needs, IsEmpty());
  EXPECT_THAT(to.all, IsEmpty());
}

TEST(Ear, WordsAreToldAgainAndAgainUntilThePhraseIsOver) {
  Listening to(3);
  to.hear(spoken(1, 4, 30, 30));
  EXPECT_THAT(to.texts(), ElementsAre("1", "1 2", "1 2 3", "1 2 3 4."));
  EXPECT_THAT(to.finals, ElementsAre("1 2 3 4."));
  // The decode of the pause had all of it: there is none for the final text.
  EXPECT_EQ(to.needs.back(), Need::kPause);
}

TEST(Ear, TheVoiceIsToldBeforeAnyWord) {
  Listening to(3);
  to.hear(spoken(1, 1, 30, 0));
  ASSERT_FALSE(to.all.empty());
  EXPECT_EQ(to.all[0].text, "");
  EXPECT_TRUE(to.all[0].voice->is_active);
  EXPECT_EQ(to.all[0].voice->since, 30 * kWindow);
  EXPECT_FALSE(to.all[0].voice->is_in_words);
}

TEST(Ear, AfterAPauseTheTextHasAllWordsAndTheLastSampleOfVoiceIsKnown) {
  Listening to(3);
  to.hear(spoken(1, 2, 30, 9));
  const RecognisedSegment& last = to.all.back();
  EXPECT_FALSE(last.is_over);
  EXPECT_FALSE(last.voice->is_active);
  EXPECT_TRUE(last.voice->is_in_words);
  EXPECT_EQ(last.voice->until, 30 * kWindow + 2 * kWordSamples);
  EXPECT_EQ(last.text, "1 2.");  // the pause is long enough for a mark
}

TEST(Ear, APauseIsToldAsItGrowsWhileItMayEndATurn) {
  Listening to(3);
  to.hear(spoken(1, 2, 30, 200));
  int64_t told = 30 * kWindow + 2 * kWordSamples + kRate / 2;  // behind it the words are known
  for (const RecognisedSegment& news : to.all) {
    const HeardVoice& voice = *news.voice;
    if (!voice.heard || *voice.heard <= told) continue;
    EXPECT_LE(*voice.heard - told, kRate / 10 + kWindow);
    told = *voice.heard;
  }
  EXPECT_GT(told, to.all.back().voice->until + 3 * kRate);
  EXPECT_FALSE(to.all.back().voice->heard);  // 200 windows are longer than anybody waits
}

TEST(Ear, ASegmentHasHalfASecondInFront) {
  Listening to(3);
  to.hear(spoken(1, 1, 100, 20));
  ASSERT_FALSE(to.lengths.empty());
  // Half a second, and what of the word was there.
  EXPECT_GE(to.lengths[0], kRate / 2 + kRate / 4);
  EXPECT_LE(to.lengths[0], kRate / 2 + kWordSamples + 2 * kWindow);
}

TEST(Ear, AShortPauseGoesOnInTheSameSegmentWithoutItsMark) {
  Listening to(3);
  to.hear(spoken(1, 2, 30, 8));
  EXPECT_EQ(to.all.back().text, "1 2.");
  to.hear(spoken(3, 4, 0, 30));
  EXPECT_THAT(to.finals, ElementsAre("1 2 3 4."));
  for (const RecognisedSegment& one : to.all) {
    EXPECT_TRUE(one.number == 0 || one.text.empty()) << one.text;
  }
  EXPECT_THAT(to.texts(), testing::Contains("1 2 3"));
}

TEST(Ear, TicksAreSkippedWhileADecodeRunsAndNeverQueue) {
  Listening fast(1), slow(40);  // 40 windows are 1.28 s
  for (Listening* to : {&fast, &slow}) {
    to->hear(spoken(1, 20, 0, 60));
    to->finish();
    EXPECT_THAT(to->finals, SizeIs(1));
  }
  EXPECT_EQ(fast.finals, slow.finals);
  EXPECT_GE(fast.needs.size(), 12u);
  EXPECT_LE(slow.needs.size(), 7u);
  // Each one had all of the sound that there was.
  for (size_t i = 1; i < slow.lengths.size(); ++i) EXPECT_GT(slow.lengths[i], slow.lengths[i - 1]);
}

TEST(Ear, APauseFindsTheDecoderFreeHalfOfTheTime) {
  Listening to(20);  // 0.64 s, for 0.4 s of new sound
  to.hear(spoken(1, 40, 0, 0));
  int64_t new_sound = 0;
  for (size_t i = 2; i < to.lengths.size(); ++i) {
    new_sound = to.lengths[i] - to.lengths[i - 1];
    EXPECT_GE(new_sound, 40 * kWindow) << i;
    EXPECT_LE(new_sound, 42 * kWindow) << i;
  }
  EXPECT_GT(new_sound, 0);
}

TEST(Ear, APauseDoesNotWaitForADecodeThatLacksItsVoice) {
  const auto windows_to_text = [](bool can_stop) {
    Listening to(30);
    to.can_stop = can_stop;
    to.hear(spoken(1, 3, 0, 0));  // the beginning is being decoded when the voice pauses
    EXPECT_TRUE(to.job);
    int64_t windows = 0;
    for (; to.all.back().text != "1 2 3."; ++windows) to.hear(std::vector<float>(kWindow));
    EXPECT_EQ(to.num_stopped, can_stop ? 1 : 0);
    return windows;
  };
  EXPECT_EQ(windows_to_text(true), 1 + 30);
  EXPECT_GT(windows_to_text(false), 1 + 30 + 4);
}

TEST(Ear, ATextThatIsNotSureIsToldAndDecodedAgainCarefully) {
  Listening to(3);
  to.doubts_pauses = true;
  to.hear(spoken(1, 2, 30, 5));
  EXPECT_EQ(to.all.back().text, "1 2");  // 4 windows of the pause are in it, and 1 is behind
  EXPECT_EQ(to.num_careful, 1);
  const std::vector<int64_t> lengths = to.lengths;
  ASSERT_GE(lengths.size(), 2u);
  EXPECT_EQ(lengths[lengths.size() - 2], lengths.back()) << "the same sound";
  for (const RecognisedSegment& one : to.all) EXPECT_FALSE(one.voice->is_in_words);
  to.hear(spoken(1, 0, 0, 3));
  EXPECT_EQ(to.all.back().text, "1 2.");
  EXPECT_TRUE(to.all.back().voice->is_in_words);
  to.hear(spoken(1, 0, 0, 20));
  EXPECT_THAT(to.finals, ElementsAre("1 2."));
  EXPECT_EQ(to.num_careful, 1) << "the text is known";
  EXPECT_EQ(to.lengths.size(), lengths.size());
}

TEST(Ear, ACarefulDecodeIsStoppedWhenTheVoiceGoesOn) {
  Listening to(6);
  to.doubts_pauses = true;
  to.hear(spoken(1, 1, 30, 8));
  ASSERT_TRUE(to.job && to.job->is_careful);
  const int num_stopped = to.num_stopped;
  to.hear(spoken(2, 3, 0, 0));
  EXPECT_EQ(to.num_stopped, num_stopped + 1);
  to.hear(spoken(1, 0, 0, 30));
  EXPECT_THAT(to.finals, ElementsAre("1 2 3."));
  EXPECT_EQ(to.num_careful, 2);
}

TEST(Ear, SegmentsThatEndAtOnceAreDecodedCarefullyToo) {
  Listening to(3);
  to.doubts_pauses = true;
  to.hear(spoken(1, 3, 10, 0));
  to.finish();
  EXPECT_THAT(to.finals, ElementsAre("1 2 3."));
  EXPECT_EQ(to.num_careful, 1);
  EXPECT_TRUE(to.ear.is_done());
}

TEST(Ear, ADecodeAfterAStoppedOneRunsToItsEnd) {
  Listening to(14);
  // A word, a pause, another word, a pause .. each shorter than a decode.
  for (int word = 1; word <= 20; ++word) to.hear(spoken(word, word, 0, 3));
  EXPECT_GE(to.num_stopped, 3);
  EXPECT_GE(to.texts().size(), 5u);
  EXPECT_GE(to.needs.size(), 2 * static_cast<size_t>(to.num_stopped));
  to.finish();
  ASSERT_THAT(to.finals, SizeIs(1));
  EXPECT_TRUE(to.finals[0].ends_with("19 20.")) << to.finals[0];
}

TEST(Ear, FinalTextsOfASlowDecoderComeInOrderAndWhole) {
  Listening to(60);
  for (int phrase = 0; phrase < 3; ++phrase) to.hear(spoken(1 + phrase, 1 + phrase, 2, 20));
  to.finish();
  EXPECT_THAT(to.finals, ElementsAre("1.", "2.", "3."));
  int64_t number = 0;
  for (const RecognisedSegment& one : to.all) {
    EXPECT_GE(one.number, number);
    number = one.number;
  }
}

TEST(Ear, WhatIsFinishedInAWordHasAFinalText) {
  Listening to(3);
  to.hear(spoken(1, 3, 10, 0));
  to.finish();
  EXPECT_THAT(to.finals, ElementsAre("1 2 3."));
  EXPECT_TRUE(to.ear.is_done());
}

TEST(Ear, ALongSegmentIsCutWhereItHasToBe) {
  Listening to(1, {.longest = 2 * kRate});
  to.hear(spoken(1, 30, 20, 30));
  to.finish();
  EXPECT_GE(to.finals.size(), 4u);
  for (const int64_t length : to.lengths) EXPECT_LE(length, 2 * kRate + kWindow);
}

TEST(Ear, TheDecodersOwnEndCountsAndLaterWordsHaveASegmentOfTheirOwn) {
  Listening to(1, {.period = kRate / 10, .lag = VoiceActivity::kOver});
  to.hear(spoken(1, 2, 20, 4));
  to.is_end = true;
  to.hear(spoken(1, 0, 0, 6));
  to.is_end = false;
  to.hear(spoken(3, 3, 0, 30));
  EXPECT_EQ(to.finals.back(), "3.");
  EXPECT_GE(to.finals.size(), 2u);
}

TEST(Ear, TheEndOfATurnIsJudgedOnceInAPauseByItsLastEightSeconds) {
  Listening to(1);
  to.hear(spoken(1, 4, 300, 1));
  EXPECT_FALSE(to.ear.take_turn_sound());
  to.hear(std::vector<float>(kWindow, 0.01f));
  const auto sound = to.ear.take_turn_sound();
  ASSERT_TRUE(sound);
  // Half a second, four words, and the pause: what was before is another turn.
  EXPECT_EQ(std::ssize(*sound), kRate / 2 + 4 * kWordSamples + 5 * kWindow);
  // The pause has lasted 64 ms, and is judged as if silence had followed up to 160 ms.
  EXPECT_EQ(sound->end()[-3 * kWindow - 1], 0.01f);
  EXPECT_THAT(std::span(*sound).last(3 * kWindow), testing::Each(0));
  to.hear(spoken(1, 0, 0, 3));
  EXPECT_FALSE(to.ear.take_turn_sound());
  to.ear.set_end(0.75);
  to.tell();
  EXPECT_EQ(to.all.back().voice->end, 0.75);
  to.hear(spoken(5, 40, 0, 5));
  EXPECT_EQ(to.all.back().voice->end, std::nullopt);  // it went on
  EXPECT_EQ(std::ssize(*to.ear.take_turn_sound()), Ear::kTurnSound);
  to.hear(spoken(45, 50, 0, 2));
  EXPECT_EQ(std::ssize(*to.ear.take_turn_sound()), Ear::kTurnSound);  // the silence to come, too
}

TEST(Ear, HoursOfSoundAreNotKept) {
  Listening to(1);
  const std::vector<float> silence(static_cast<size_t>(kRate));
  for (int i = 0; i < 3600; ++i) to.hear(silence);
  EXPECT_LE(to.ear.num_kept(), 10u * kRate);
  to.hear(spoken(1, 1, 0, 30));
  EXPECT_THAT(to.finals, ElementsAre("1."));
  EXPECT_EQ(to.all.back().voice->until, 3600 * int64_t{kRate} / kWindow * kWindow + kWordSamples);
}

TEST(Ear, BlocksOfAnySizeAreTheSame) {
  const std::vector<float> sound = spoken(1, 3, 31, 40);
  Ear whole(hear_loudness, {}), pieces(hear_loudness, {});
  whole.add(sound);
  for (size_t i = 0; i < sound.size(); i += 37) {
    pieces.add(std::span(sound).subspan(i, std::min<size_t>(37, sound.size() - i)));
  }
  EXPECT_EQ(whole.take_news()->voice->until, pieces.take_news()->voice->until);
  EXPECT_EQ(whole.begin_decode().sound, pieces.begin_decode().sound);
}

}  // namespace
}  // namespace predgen::ears
