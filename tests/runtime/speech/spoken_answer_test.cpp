#include "runtime/speech/spoken_answer.h"

#include <gtest/gtest.h>

#include "tests/fakes/playing_sink.h"

namespace predgen {
namespace {

constexpr const char* kAnswer = "Yes I can. Go on! Well";

SpokenAnswer spoken(double played) {
  return {.sentences = {{"Yes I can.", Seconds(1), true}, {"Go on!", Seconds(2), true}},
          .played = Seconds(played)};
}

TEST(HeardText, EndsBehindTheLastWholeWord) {
  EXPECT_EQ(heard_text(kAnswer, spoken(0)), "");
  EXPECT_EQ(heard_text(kAnswer, spoken(0.2)), "");
  EXPECT_EQ(heard_text(kAnswer, spoken(0.5)), "Yes I");
  EXPECT_EQ(heard_text(kAnswer, spoken(0.9)), "Yes I");
  EXPECT_EQ(heard_text(kAnswer, spoken(0.96)), "Yes I can.") << "the rest is no word";
  EXPECT_EQ(heard_text(kAnswer, spoken(1.2)), "Yes I can.");
  EXPECT_EQ(heard_text(kAnswer, spoken(2)), "Yes I can. Go");
  EXPECT_EQ(heard_text(kAnswer, spoken(9)), "Yes I can. Go on!") << "more was not said";
}

TEST(HeardText, IsTheWholeAnswerIfNothingButSpaceIsLeft) {
  EXPECT_EQ(heard_text("Yes I can.\nGo on!\n", spoken(2.9)), "Yes I can.\nGo");
  EXPECT_EQ(heard_text("Yes I can.\nGo on!\n", spoken(3)), "Yes I can.\nGo on!\n");
}

TEST(HeardText, ASentenceWhoseSoundIsNotMadeYetIsLongerThanItsBeginning) {
  const std::string answer = "Well, that is a question that I have to think about.";
  const auto heard = [&](bool is_whole) {
    return heard_text(answer,
                      {.sentences = {{answer, Seconds(1), is_whole}}, .played = Seconds(1)});
  };
  EXPECT_EQ(heard(true), answer);
  EXPECT_EQ(heard(false), "Well, that is a");
}

TEST(HeardText, LettersOfMoreThanAByteTakeNoLonger) {
  const std::string answer = "Это хороший вопрос, и я должен подумать.";  // 40 characters
  EXPECT_EQ(heard_text(answer, {.sentences = {{answer, Seconds(1), false}}, .played = Seconds(1)}),
            "Это хороший");
}

TEST(HeardText, ASentenceThatIsNotInTheAnswerSoTakesItsTime) {
  const std::string answer = "One. Well <call> then. Two.";
  const auto heard = [&](double played) {
    return heard_text(answer, {.sentences = {{"One.", Seconds(1), true},
                                             {"Well then.", Seconds(1), true},
                                             {"Two.", Seconds(1), true}},
                               .played = Seconds(played)});
  };
  EXPECT_EQ(heard(1.5), "One.");
  EXPECT_EQ(heard(3), answer);
  EXPECT_EQ(heard_text("Well <call> then.",
                       {.sentences = {{"Well then.", Seconds(1), true}}, .played = Seconds(1)}),
            "Well <call> then.");
}

TEST(HeardText, WhatCannotBeSaidIsHeardWithWhatIsInFrontOfIt) {
  const auto heard = [](double played) {
    return heard_text("*** Yes. *** No.", {.sentences = {{"***", Seconds(0), true},
                                                         {"Yes.", Seconds(1), true},
                                                         {"***", Seconds(0), true},
                                                         {"No.", Seconds(1), true}},
                                           .played = Seconds(played)});
  };
  EXPECT_EQ(heard(0), "");
  EXPECT_EQ(heard(1), "*** Yes. ***");
  EXPECT_EQ(heard(2), "*** Yes. *** No.");
}

TEST(ShareOfText, IsWholeWordsOrCharactersOfAScriptWithoutSpaces) {
  EXPECT_EQ(share_of_text("one  two", 0.7), "one");
  EXPECT_EQ(share_of_text("one two", 0.5), "one") << "its end is the word's";
  EXPECT_EQ(share_of_text("incomprehensibility", 0.9), "");
  EXPECT_EQ(share_of_text("Größe", 0.5), "");
  EXPECT_EQ(share_of_text("今天天气很好。", 0.5), "今天天");
  EXPECT_EQ(share_of_text("我用Python写", 0.6), "我用");
  EXPECT_EQ(share_of_text("one two", -1), "");
  EXPECT_EQ(share_of_text("one two", 2), "one two");
}

struct SpokenTrackTest : testing::Test {
  /// Says a sentence of so many samples.
  void say(const std::string& sentence, int64_t num_samples) {
    const size_t number = track.say(sentence);
    track.add_sound(number, num_samples);
    track.finish(number);
    track.will_write(num_samples);
    sink.write(std::vector<float>(static_cast<size_t>(num_samples)));
  }
  void at(double seconds) { clock.sleep_until(Seconds(seconds)); }
  double played() const { return track.answer().played.count(); }

  VirtualClock clock{VirtualClock::Computation::kCostTable};
  PlayingSink sink{clock, 10};
  SpokenTrack track{sink, 10};
};

TEST_F(SpokenTrackTest, AnAnswerBeginsBehindTheOneBefore) {
  say("One.", 10);
  at(0.5);
  EXPECT_EQ(played(), 0.5);
  track.end_answer();
  say("Two.", 10);  // the first one is heard still
  EXPECT_EQ(track.answer().sentences.size(), 1u);
  EXPECT_EQ(played(), 0);
  at(1.7);
  EXPECT_NEAR(played(), 0.7, 1e-9);
  at(9);
  EXPECT_EQ(played(), 1);
}

TEST_F(SpokenTrackTest, WhatWasClearedIsNotHeardLater) {
  say("One.", 100);
  at(0.5);
  sink.clear();
  track.cleared();
  track.end_answer();
  at(3);
  EXPECT_EQ(played(), 0.5);
  say("Two.", 10);
  at(3.5);
  EXPECT_EQ(played(), 0.5);
  at(4);
  EXPECT_EQ(played(), 1);
}

}  // namespace
}  // namespace predgen
