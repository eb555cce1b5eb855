#include "voice/clauses/spoken_pieces.h"

#include <gmock/gmock.h>

namespace predgen {
namespace {

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
