#include "text/word_spacing.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(JoinedWords, HaveASpaceBetweenThem) {
  EXPECT_EQ(joined_words("find me", "a hotel"), "find me a hotel");
  EXPECT_EQ(joined_words("", "a hotel"), "a hotel");
  EXPECT_EQ(joined_words("find me", ""), "find me");
  EXPECT_EQ(joined_words("", ""), "");
  EXPECT_EQ(joined_words("안녕", "하세요"), "안녕 하세요") << "Korean has spaces";
}

TEST(JoinedWords, HaveNoneInScriptsThatPutNoneBetweenWords) {
  EXPECT_EQ(joined_words("今天天气", "怎么样"), "今天天气怎么样");
  EXPECT_EQ(joined_words("今日は、", "カフェ"), "今日は、カフェ");
  EXPECT_EQ(joined_words("ｱｲ", "𠮷野家"), "ｱｲ𠮷野家");
  EXPECT_EQ(joined_words("สวัสดี", "ครับ"), "สวัสดีครับ");
  EXPECT_EQ(joined_words("ສະບາຍ", "ດີ"), "ສະບາຍດີ");
  EXPECT_EQ(joined_words("မင်္ဂ", "လာပါ"), "မင်္ဂလာပါ");
  EXPECT_EQ(joined_words("សួ", "ស្តី"), "សួស្តី");
}

TEST(JoinedWords, HaveASpaceWhereOneScriptHas) {
  EXPECT_EQ(joined_words("你好", "hotel"), "你好 hotel");
  EXPECT_EQ(joined_words("hotel", "你好"), "hotel 你好");
  EXPECT_EQ(joined_words("bad \xE4\xBD", "你好"), "bad \xE4\xBD 你好") << "ill-formed";
}

}  // namespace
}  // namespace predgen
