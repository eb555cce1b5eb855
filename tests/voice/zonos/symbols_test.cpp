#include "voice/zonos/symbols.h"

#include <gmock/gmock.h>

#include <set>

namespace predgen {
namespace {

using testing::ElementsAre;

TEST(ZonosSymbols, HaveTheirIds) {
  EXPECT_EQ(ZonosSymbols::id(U';'), 4);
  EXPECT_EQ(ZonosSymbols::id(U' '), 21);
  EXPECT_EQ(ZonosSymbols::id(U'-'), 24);
  EXPECT_EQ(ZonosSymbols::id(U'&'), 27);
  EXPECT_EQ(ZonosSymbols::id(U'A'), 28);
  EXPECT_EQ(ZonosSymbols::id(U'z'), 79);
  EXPECT_EQ(ZonosSymbols::id(0x0251), 80);
  EXPECT_EQ(ZonosSymbols::id(0x02C8), 167);
  EXPECT_EQ(ZonosSymbols::id(0x2198), 184);
  EXPECT_EQ(ZonosSymbols::id(0x1D7B), 188);
}

TEST(ZonosSymbols, ApostropheHasItsLaterId) { EXPECT_EQ(ZonosSymbols::id(U'\''), 187); }

TEST(ZonosSymbols, UnknownCharactersKeepTheirPlace) {
  for (const char32_t c : {0x0303, 0x35, 0x2019, 0x4F60, 0x1F600, 0x5F, 0xA}) {
    EXPECT_EQ(ZonosSymbols::id(c), ZonosSymbols::kUnknown) << static_cast<uint32_t>(c);
  }
  EXPECT_THAT(phoneme_ids("a\u03035"), ElementsAre(2, 54, 1, 1, 3));
}

TEST(ZonosSymbols, EveryRowButOneIsUsed) {
  std::set<int64_t> ids;
  for (char32_t c = 0; c < 0x20000; ++c) ids.insert(ZonosSymbols::id(c));
  EXPECT_EQ(ids.size(), 185u);  // 4 to 188 but 185, and kUnknown
  EXPECT_FALSE(ids.contains(185));
  EXPECT_EQ(*ids.rbegin(), ZonosSymbols::kCount - 1);
}

TEST(ZonosSymbols, MarksAreTwentyFourAndTheSpaceIsOne) {
  int marks = 0;
  for (char32_t c = 0; c < 0x20000; ++c) marks += ZonosSymbols::is_mark(c);
  EXPECT_EQ(marks, 24);
  EXPECT_TRUE(ZonosSymbols::is_mark(U' '));
  EXPECT_FALSE(ZonosSymbols::is_mark(U'\''));
  EXPECT_FALSE(ZonosSymbols::is_mark(U'\n'));
}

TEST(PhonemeIds, BeginAndEnd) {
  EXPECT_THAT(phoneme_ids(""), ElementsAre(2, 3));
  EXPECT_THAT(phoneme_ids("\u0250 b\u02c8i\u02d0"), ElementsAre(2, 81, 21, 55, 167, 62, 169, 3));
}

}  // namespace
}  // namespace predgen
