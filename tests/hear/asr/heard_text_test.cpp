#include "hear/asr/heard_text.h"

#include <gtest/gtest.h>

#include "hear/asr/voice_activity.h"

namespace predgen::ears {
namespace {

TEST(HeardText, WhatWhisperHearsInSilenceIsBelievedInALongVoiceOnly) {
  for (const char* text : {" you", "Thank you.", "Oh", " Bye-bye.", "Thanks for watching!", "."}) {
    EXPECT_EQ(believable_text(text, kRate / 5), "") << text;
  }
  EXPECT_EQ(believable_text(" Thank you.", kRate / 2), "Thank you.");
  EXPECT_EQ(believable_text("Yes.", kRate / 5), "Yes.");
  EXPECT_EQ(believable_text("you are", kRate / 5), "you are");
  EXPECT_EQ(believable_text(" ... ", kRate), "");
  EXPECT_EQ(believable_text("", kRate), "");
}

TEST(HeardText, LoopsBecomeWhatTheyRepeat) {
  EXPECT_EQ(believable_text("A A A A A A A A A", kRate), "A");
  EXPECT_EQ(believable_text("no no no no", kRate), "no no no no");
  EXPECT_EQ(believable_text("book it book it book it book it book it book it now", kRate),
            "book it now");
  EXPECT_EQ(believable_text("It was, it was, it was, it was, it was. The end", kRate),
            "It was, The end");
  EXPECT_EQ(believable_text("six six six six six", kRate), "six");
  EXPECT_EQ(believable_text("five five one two three four", kRate), "five five one two three four");
}

TEST(HeardText, TextThatStartsOverEnds) {
  EXPECT_EQ(believable_text("Make me a mocha with milk. Make me a", kRate),
            "Make me a mocha with milk.");
  EXPECT_EQ(believable_text("Get a 12-ounce mocha. Get a 12", kRate), "Get a 12-ounce mocha.");
  EXPECT_EQ(believable_text("Turn it off! Turn it off! Turn it off", kRate), "Turn it off!");
  for (const char* said :
       {"Make me a mocha. Make me", "Is it hot? It is hot", "It is hot. Is it hot",
        "Make me a mocha, make me a", "Hi. Make me a mocha. Make me a"}) {
    EXPECT_EQ(believable_text(said, kRate), said);
  }
}

TEST(HeardText, WhatIsDescribedIsNotSaid) {
  EXPECT_EQ(believable_text("[Music] hello (coughs) there \u266a", kRate), "hello there");
  EXPECT_EQ(believable_text("(coughs)", kRate), "");
  EXPECT_EQ(believable_text("a ( b", kRate), "a ( b");
  EXPECT_EQ(believable_text("\uff08\u62cd\u624b\uff09 \u3010\u97f3\u697d\u3011", kRate), "");
}

TEST(HeardText, FiguresInBracketsAreSaid) {
  for (const char* said : {"Call (415) 555 0132.", "[42]", "Seat (12B) is mine", "a function f(x)",
                           "It costs (about 20) euros"}) {
    EXPECT_EQ(believable_text(said, kRate), said);
  }
  EXPECT_EQ(believable_text("(415) 555 (coughs) 0132", kRate), "(415) 555 0132");
}

TEST(HeardText, OtherScriptsAreWords) {
  EXPECT_EQ(believable_text("\u4eca\u5929\u5929\u6c14", kRate), "\u4eca\u5929\u5929\u6c14");
}

TEST(HeardText, TheMarkAtTheEndOfAPartialGoes) {
  EXPECT_EQ(without_end_mark("Mr. John?"), "Mr. John");
  EXPECT_EQ(without_end_mark("so..."), "so");
  EXPECT_EQ(without_end_mark("what?! "), "what");
  EXPECT_EQ(without_end_mark("one, two,"), "one, two,");
  EXPECT_EQ(without_end_mark("\u597d\u3002"), "\u597d");
  EXPECT_EQ(without_end_mark("..."), "");
  EXPECT_EQ(without_end_mark(""), "");
}

TEST(HeardText, CapitalsBecomeSmallLetters) {
  EXPECT_EQ(in_small_letters("AND I THINK I'M LATE"), "and I think I'm late");
  EXPECT_EQ(in_small_letters("Hello NASA"), "Hello NASA");
  EXPECT_EQ(in_small_letters(""), "");
}

}  // namespace
}  // namespace predgen::ears
