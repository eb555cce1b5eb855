#include "voice/clauses/spoken_pieces.h"

#include <gmock/gmock.h>

#include "text/utf8.h"

namespace predgen {
namespace {

/// Clauses in brackets, each with its mark behind.
std::string marked(std::string_view text) {
  std::string result;
  for (const Clause& clause : split_clauses(text)) {
    result += "[" + clause.text + "]" + clause.mark;
  }
  return result;
}

TEST(SplitClauses, AtMarksBeforeASpace) {
  EXPECT_EQ(marked("Sure, what city?"), "[Sure,],[what city?]?");
  EXPECT_EQ(marked("One; two: three. Four!"), "[One;];[two:]:[three.].[Four!]!");
  EXPECT_EQ(marked("No mark at the end"), "[No mark at the end]");
  EXPECT_EQ(marked("  blank ,  around  "), "[blank ,],[around]");
}

TEST(SplitClauses, NotWithinNumbersTimesAndNames) {
  EXPECT_EQ(marked("It is 3.5, or 12:30, at a.b."), "[It is 3.5,],[or 12:30,],[at a.b.].");
  EXPECT_EQ(marked("It cost 1,200 euros."), "[It cost 1,200 euros.].");
  EXPECT_EQ(marked("approx. five of them."), "[approx. five of them.].");
}

TEST(SplitClauses, ClosingQuotesAndBracketsBelongToTheirClause) {
  EXPECT_EQ(marked("\"Yes.\" She (really!) said so."), "[\"Yes.\"].[She (really!)]![said so.].");
  EXPECT_EQ(marked("\u201CYes,\u201D she said."), "[\u201CYes,\u201D],[she said.].");
}

TEST(SplitClauses, TheStrongestOfSeveralMarksHasTheMelody) {
  EXPECT_EQ(marked("What?! No... Well!!"), "[What?!]?[No...]\u2026[Well!!]!");
  EXPECT_EQ(marked("Hm\u2026 yes"), "[Hm\u2026]\u2026[yes]");
}

TEST(SplitClauses, DashesPartClausesAndHyphensDoNot) {
  EXPECT_EQ(marked("a well-known one \u2014 that"), "[a well-known one \u2014]\u2014[that]");
  EXPECT_EQ(marked("one\u2014two"), "[one\u2014]\u2014[two]");
  EXPECT_EQ(marked("one \u2013 two"), "[one \u2013]\u2014[two]");
  EXPECT_EQ(marked("pages 3\u20135"), "[pages 3\u20135]");
  EXPECT_EQ(marked("one - two"), "[one -]\u2014[two]");
  EXPECT_EQ(marked("- one"), "[- one]");
}

TEST(SplitClauses, MarksOfOtherScriptsMeanTheSame) {
  EXPECT_EQ(marked("\u4F60\u597D\uFF0C\u4E16\u754C\u3002\u597D\uFF1F"),
            "[\u4F60\u597D\uFF0C],[\u4E16\u754C\u3002].[\u597D\uFF1F]?");
  EXPECT_EQ(marked("\u0646\u0639\u0645\u060C \u0644\u0627\u061F"),
            "[\u0646\u0639\u0645\u060C],[\u0644\u0627\u061F]?");
}

TEST(SplitClauses, WhatHasNoWordIsNoClause) {
  for (const char* text : {"", " ", "...", "?!", "\u2014 - \u2026", "\"\"", "\U0001F600"}) {
    EXPECT_EQ(marked(text), "") << text;
  }
  EXPECT_EQ(marked("... and then, ..."), "[... and then,],");
  EXPECT_EQ(marked("\u00BFQu\u00E9?"), "[\u00BFQu\u00E9?]?");
}

TEST(SplitClauses, LosesNoWordOfALongText) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += i % 9 == 0 ? "word, " : "word ";
  size_t words = 0;
  for (const Clause& clause : split_clauses(text)) {
    for (size_t at = 0; (at = clause.text.find("word", at)) != std::string::npos; ++at) ++words;
  }
  EXPECT_EQ(words, 400U);
}

TEST(EndsSentence, KnowsTheMarks) {
  for (const char* mark : {".", "!", "?", "\u2026"}) EXPECT_TRUE(ends_sentence(mark)) << mark;
  for (const char* mark : {"", ",", ";", ":", "\u2014"}) EXPECT_FALSE(ends_sentence(mark)) << mark;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SpeechParts, ShortTextIsOnePart) {
  EXPECT_THAT(speech_parts("  Hello, world. "), ElementsAre("Hello, world."));
  EXPECT_THAT(speech_parts(" \n "), IsEmpty());
}

TEST(SpeechParts, CutsAfterTheLastMarkThatFits) {
  EXPECT_THAT(speech_parts("One two, three four five. Six", 19),
              ElementsAre("One two,", "three four five.", "Six"));
  EXPECT_THAT(speech_parts("One two. Three", 8), ElementsAre("One two.", "Three"));
}

TEST(SpeechParts, CutsAtASpaceWhereThereIsNoMark) {
  EXPECT_THAT(speech_parts("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(speech_parts("one two three", 7), ElementsAre("one two", "three"));
}

TEST(SpeechParts, CutsWordsWithoutEndBetweenCharacters) {
  EXPECT_THAT(speech_parts("\u4f60\u597d\u4f60\u597d\u4f60", 2),
              ElementsAre("\u4f60\u597d", "\u4f60\u597d", "\u4f60"));
  EXPECT_THAT(speech_parts("\u4f60\u597d\u3002\u4f60\u597d\u4f60", 5),
              ElementsAre("\u4f60\u597d\u3002", "\u4f60\u597d\u4f60"));
}

TEST(SpeechParts, LosesNothingOfALongText) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text.append(i % 7 == 0 ? "word, " : "word ");
  size_t words = 0;
  for (const std::string& part : speech_parts(text)) {
    EXPECT_LE(part.size(), 300u);
    for (size_t at = 0; (at = part.find("word", at)) != std::string::npos; ++at) ++words;
  }
  EXPECT_EQ(words, 2000u);
}

/// Groups in brackets, their clauses apart by a bar.
std::string grouped(std::string_view text, const PieceLimits& limits = {}) {
  std::string result;
  for (const auto& group : group_clauses(split_clauses(text), limits)) {
    result += "[";
    for (size_t i = 0; i < group.size(); ++i) result += (i > 0 ? "|" : "") + group[i].text;
    result += "]";
  }
  return result;
}

TEST(GroupClauses, ShortClausesAreSpokenWithTheirNeighbours) {
  EXPECT_EQ(grouped("Sure, what city should I search in?"),
            "[Sure,|what city should I search in?]");
  EXPECT_EQ(grouped("What city should I search in, please?"),
            "[What city should I search in,|please?]");
}

TEST(GroupClauses, LongOnesAreSpokenAlone) {
  EXPECT_EQ(grouped("It will be sunny tomorrow, with a light breeze, and then dry."),
            "[It will be sunny tomorrow,][with a light breeze,|and then dry.]");
}

TEST(GroupClauses, SentencesAreNeverSpokenTogether) {
  EXPECT_EQ(grouped("Hi! No. Yes, I do."), "[Hi!][No.][Yes,|I do.]");
  EXPECT_EQ(grouped("It will be sunny tomorrow, so. What else is there?"),
            "[It will be sunny tomorrow,|so.][What else is there?]");
}

TEST(GroupClauses, AGroupIsNoLongerThanTheLimit) {
  EXPECT_EQ(grouped("one, two, three, four, five", {.shortest = 100, .longest = 10}),
            "[one,|two,][three,][four,|five]");
  EXPECT_EQ(grouped("", {}), "");
}

TEST(GroupClauses, AClauseThatIsTooLongIsCutAtItsSpaces) {
  const PieceLimits limits{.shortest = 4, .longest = 12};
  EXPECT_EQ(grouped("one two three four five six.", limits), "[one two][three four][five six.]");
  const auto groups = group_clauses(split_clauses("one two three four five six."), limits);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].back().mark, "");
  EXPECT_EQ(groups[2].back().mark, ".");
}

TEST(SpokenPiece, HasPhonemesAndMarks) {
  const std::vector<Clause> group{{"Well,", ","}, {"hello there.", "."}};
  const SpokenPiece piece = spoken_piece(
      group, {"w_\u02C8\u025B_l", " h_\u0259_l_\u02C8o\u028A  \u00F0_\u02C8\u025B\u0279\n"});
  EXPECT_EQ(piece.phonemes,
            "w_\u02C8\u025B_l, h_\u0259_l_\u02C8o\u028A \u00F0_\u02C8\u025B\u0279.");
  EXPECT_EQ(piece.mark, ".");
}

TEST(SpokenPiece, SwitchesOfLanguageAndClausesWithoutASoundGo) {
  EXPECT_EQ(spoken_piece({{"a", ","}, {"b", "."}}, {"(fr)b_\u0254\u0303(en) _a", ""}).phonemes,
            "b_\u0254\u0303 a,");
  EXPECT_EQ(spoken_piece({{"a", "."}}, {"_a__b_ _ _c_"}).phonemes, "a_b c.");
  EXPECT_EQ(spoken_piece({{"a", "."}}, {" _"}).phonemes, "");
}

TEST(CutPhonemes, KeepsTheMarkAtTheEnd) {
  const auto parts = cut_phonemes({"one two three four.", "."}, 9);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].phonemes, "one two");
  EXPECT_EQ(parts[0].mark, "");
  EXPECT_EQ(parts[2].phonemes, "four.");
  EXPECT_EQ(parts[2].mark, ".");
  EXPECT_TRUE(cut_phonemes({}, 9).empty());
}

}  // namespace
}  // namespace predgen
