#include "voice/clauses/split_clauses.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace predgen
