#include "text/spoken/speech_text.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(SpeakableText, KeepsWordsOnly) {
  EXPECT_EQ(speakable_text("  a\x01\n\nb\t c. \n"), "a b c.");
  EXPECT_EQ(speakable_text("\u4f60\xff\u597d"), "\u4f60\u597d");
}

TEST(SpeakableText, IsEmptyForWhatCannotBeSpoken) {
  for (const char* text : {"", " \n", "-- !", "...", "?!", "\x01\x02", "---", "|---|---|", "**",
                           "\U0001F600 \u2764\ufe0f", "![](a.png)", "> ", "\u2192"}) {
    EXPECT_EQ(speakable_text(text), "") << text;
  }
}

TEST(SpeakableText, DropsEmojiAndKeepsSignsThatAreRead) {
  EXPECT_EQ(speakable_text("Great! \U0001F600\U0001F44D\U0001F3FD"), "Great!");
  EXPECT_EQ(speakable_text("I \u2764\ufe0f it \U0001F469\u200d\U0001F4BB."), "I it.");
  EXPECT_EQ(speakable_text("\U0001F1E9\U0001F1EA Germany 5\ufe0f\u20e3"), "Germany 5");
  EXPECT_EQ(speakable_text("Es sind 20\u00b0C, 5% \u00d7 2 = 10.", "de"),
            "Es sind 20\u00b0C, 5% \u00d7 2 = 10.");
  EXPECT_EQ(speakable_text("It is 20\u00b0C, 5% \u00d7 2 = 10."),
            "It is 20 degrees Celsius, 5% times 2 equals 10.");
  EXPECT_EQ(speakable_text("Windows\u2122 and\u00a0more"), "Windows and more");
}

TEST(SpeakableText, KeepsTheJoinersThatLettersNeed) {
  EXPECT_EQ(speakable_text("\u0645\u06cc\u200c\u0631\u0648\u0645"),
            "\u0645\u06cc\u200c\u0631\u0648\u0645");
  EXPECT_EQ(speakable_text("zero\u200b\u200dwidth\u202e \u845b\U000e0100"), "zerowidth \u845b");
}

TEST(SpeakableText, KeepsTheMelody) {
  for (const char* text : {"Well, yes; no: maybe... really?!", "\"Go!\" she said \u2014 (quietly).",
                           "\u00bfQu\u00e9? \u00a1S\u00ed!", "\u300c\u597d\u3002\u300d"}) {
    EXPECT_EQ(speakable_text(text), text);
  }
}

TEST(SpeakableText, ArrowsAndBulletsArePauses) {
  EXPECT_EQ(speakable_text("Menu \u2192 File -> Open"), "Menu, File, Open");
  EXPECT_EQ(speakable_text("red \u2022 green."), "red, green.");
}

TEST(SpeakableText, AllRulesTogether) {
  EXPECT_EQ(speakable_text("- **Dr. Lee** (see [site](https://lee.com)) \U0001F44D"),
            "Doctor Lee (see site).");
  EXPECT_EQ(speakable_text("2. Write to `ann_b@lee.com` & wait"),
            "2. Write to ann b at lee dot com and wait.");
  EXPECT_EQ(speakable_text("```py\nx.y\n```", "de"), "Code ausgelassen.");
}

TEST(SpeakableText, TwiceIsOnce) {
  for (const char* text : {"# Title", "- a.b@c.de & d", "At 5:00 p.m. (e.g. *today*)",
                           "```\nx\n```", "| a | b |", "$2.5 million", "1. One"}) {
    const std::string once = speakable_text(text);
    EXPECT_EQ(speakable_text(once), once);
  }
}

}  // namespace
}  // namespace predgen
