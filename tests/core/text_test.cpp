#include "core/text.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(Text, BlankIsWhiteSpaceOnly) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\r\n\v\f"));
  EXPECT_FALSE(is_blank(" x "));
  EXPECT_FALSE(is_blank("\xc2\xa0"));
}

TEST(Text, TrimmedHasNoBlanksAtItsEnds) {
  EXPECT_EQ(trimmed(" \t\r\n\v\fa b\n "), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\n a \n", " "), "\n a \n");
}

TEST(Text, CharactersAreCounted) {
  EXPECT_EQ(count_characters(""), 0);
  EXPECT_EQ(count_characters("a\u4f60."), 3);
  EXPECT_TRUE(begins_character('a'));
  EXPECT_TRUE(begins_character('\xe4'));
  EXPECT_FALSE(begins_character('\xbd'));
}

TEST(Text, BothEndsAreCutBetweenCharacters) {
  EXPECT_EQ(first_characters("a\u4f60.", 2), "a\u4f60");
  EXPECT_EQ(first_characters("a\u4f60.", 3), "a\u4f60.");
  EXPECT_EQ(first_characters("a", 0), "");
  EXPECT_EQ(last_bytes("a\u4f60.", 3), ".");
  EXPECT_EQ(last_bytes("a\u4f60.", 4), "\u4f60.");
  EXPECT_EQ(last_bytes("a\u4f60.", 5), "a\u4f60.");
  EXPECT_EQ(shortened("a\u4f60.", 3), "a..");
}

TEST(Text, CommonStartsAreWholeCharacters) {
  EXPECT_EQ(common_start("abc", "abd"), 2u);
  EXPECT_EQ(common_start("abc", "abc"), 3u);
  EXPECT_EQ(common_start("", "a"), 0u);
  EXPECT_EQ(common_start("aä", "aö"), 1u);  // both begin with the same byte
  EXPECT_EQ(common_start("aä", "aä!"), 3u);
}

}  // namespace
}  // namespace predgen
