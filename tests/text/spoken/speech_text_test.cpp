#include "text/spoken/speech_text.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

struct Case {
  const char* written;
  const char* spoken;
};

class SpokenEnglish : public testing::TestWithParam<Case> {};

TEST_P(SpokenEnglish, IsReadable) {
  EXPECT_EQ(spoken_words(GetParam().written, "en-us"), GetParam().spoken) << GetParam().written;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, SpokenEnglish,
    testing::Values(
        Case{"Nothing to do, here: 5 of 12!", "Nothing to do, here: 5 of 12!"},
        // Addresses.
        Case{"See https://www.example.com/path?x=1&y=2.", "See example dot com."},
        Case{"See http://user@sub.example.co.uk:8080/, ok",
             "See sub dot example dot co dot uk, ok"},
        Case{"(www.example.org)", "(example dot org)"}, Case{"<https://a.com/b>", "<a dot com>"},
        Case{"HTTPS://A.COM!", "A dot COM!"},
        Case{"at example.com/path/x now", "at example dot com now"},
        Case{"Visit example.com.", "Visit example dot com."},
        Case{"Mail ann.lee_1@mail.example.com.",
             "Mail ann dot lee underscore 1 at mail dot example dot com."},
        Case{"mailto:ann@a.com", "ann at a dot com"},
        Case{"Open main.cpp now", "Open main dot cpp now"},
        Case{"either and/or both, 24/7", "either and/or both, 24 7"}, Case{"10.5 km", "10.5 km"},
        Case{"I see.Then go", "I see. Then go"},
        // Abbreviations.
        Case{"Pets, e.g. cats, i.e. small ones", "Pets, for example cats, that is small ones"},
        Case{"Pens etc. are here", "Pens et cetera are here"}, Case{"Pens etc.", "Pens et cetera."},
        Case{"Dr. Smith met Mr. and Mrs. Lee", "Doctor Smith met Mister and Mrs Lee"},
        Case{"cats vs. dogs", "cats versus dogs"}, Case{"At 5 p.m. we go", "At 5 PM we go"},
        Case{"We go at 5 p.m.", "We go at 5 PM."}, Case{"\"At 5 p.m.\"", "\"At 5 PM.\""},
        Case{"the U.S. Army", "the US Army"}, Case{"in the U.S.A.", "in the USA."},
        Case{"J. K. Rowling and George W. Bush", "J K Rowling and George W Bush"},
        Case{"It is at 168 Hamilton St.", "It is at 168 Hamilton Street."},
        Case{"5 Oak Dr. near St. Louis", "5 Oak Drive near Saint Louis"},
        Case{"12 Main Ave. is close", "12 Main Avenue is close"},
        Case{"Take No. 5, see fig. 3", "Take number 5, see figure 3"},
        Case{"No. I will not", "No. I will not"}, Case{"Come on Jan. 5", "Come on January 5"},
        Case{"with Jan.", "with Jan."}, Case{"Apple Inc. grew", "Apple Incorporated grew"},
        Case{"tea w/ milk", "tea with milk"},
        Case{"She has a Ph.D. in art", "She has a PhD in art"},
        // Signs.
        Case{"salt & pepper, AT&T", "salt and pepper, AT and T"}, Case{"~5 km", "about 5 km"},
        // Times.
        Case{"At 7:30 pm", "At 7 30 pm"}, Case{"at 5:00 PM.", "at 5 PM."},
        Case{"at 5:00 p.m. sharp", "at 5 PM sharp"}, Case{"at 5:00.", "at 5 o'clock."},
        Case{"at 12:05", "at 12 oh 5"}, Case{"at 17:00", "at 17 hundred"},
        Case{"at 5:00 and", "at 5 o'clock and"}, Case{"a 16:9 screen", "a 16 to 9 screen"},
        Case{"12:30:45", "12:30:45"}, Case{"at 25:00", "at 25:00"},
        // Amounts; other numbers are the voice's own business. english_pairs.tsv has more.
        Case{"$2.5 million, $3 billion", "2.5 million dollars, 3 billion dollars"},
        Case{"$5 and $1.50", "5 dollars and 1 dollar 50"},
        Case{"\u20ac5, \u20ac1", "5 euros, 1 euro"}, Case{"\u00a31.50.", "1 pound 50."},
        Case{"\u20ac3.05", "3 euros 5"}, Case{"\u20ac2,000.00", "2,000 euros"},
        Case{"\u00a31.505", "1.505 pounds"}, Case{"1,234 in 1999, 3.5%", "1,234 in 1999, 3.5%"},
        Case{"x^2 and 2^10", "x\u00b2 and 2 to the power of 10"},
        Case{"E.g. this", "For example this"}));

/// English rules for times and amounts would be wrong elsewhere; each voice has its own.
TEST(SpokenWords, OtherLanguagesKeepTheirFigures) {
  for (const char* language : {"de", "fr-fr", "es", "it", "cmn", "pt-br", ""}) {
    for (const char* text : {"3:30 pm", "17:00", "$5.20", "\u20ac3.50", "$2.5 million", "~5 km",
                             "1.234,56", "No. 5", "3rd"}) {
      EXPECT_EQ(spoken_words(text, language), text) << language;
    }
  }
}

TEST(SpokenWords, OtherLanguagesHaveTheirOwn) {
  EXPECT_EQ(spoken_words("Tiere, z.B. Katzen & Hunde, ca. 5", "de"),
            "Tiere, zum Beispiel Katzen und Hunde, circa 5");
  EXPECT_EQ(spoken_words("ann@web.de, um 7:30", "de-at"), "ann at web Punkt de, um 7:30");
  EXPECT_EQ(spoken_words("Am 12.Mai usw.", "de"), "Am 12. Mai und so weiter.");
  EXPECT_EQ(spoken_words("M. Dupont & Fils, www.a.fr", "fr-fr"),
            "Monsieur Dupont et Fils, a point fr");
  EXPECT_EQ(spoken_words("el Sr. Lee, p. ej. hoy, a@b.es", "es-419"),
            "el se\u00f1or Lee, por ejemplo hoy, a arroba b punto es");
  EXPECT_EQ(spoken_words("il Sig. Rossi, ecc.", "it"), "il signor Rossi, eccetera.");
  EXPECT_EQ(spoken_words("Dr. No, e.g. a.com/b", "fi"), "Dr. No, e.g. a dot com");
}

TEST(SpokenSymbols, FallBackToEnglish) {
  EXPECT_EQ(spoken_symbols("de-ch").code_omitted, "Code ausgelassen.");
  EXPECT_EQ(spoken_symbols("xx").code_omitted, "Code omitted.");
  EXPECT_EQ(spoken_symbols("").dot, "dot");
}

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
