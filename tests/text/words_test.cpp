#include "text/words.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(BareWords, AreThoseOfTheSameSpeech) {
  EXPECT_EQ(bare_words("  Would you like to-\n"), "would you like to");
  EXPECT_EQ(bare_words("would you like, to?"), "would you like to");
  EXPECT_EQ(bare_words("Don’t - GO!"), "dont go");
  EXPECT_EQ(bare_words("don't go..."), "dont go");
  EXPECT_EQ(bare_words("Straße Élan"), bare_words("STRASSE, élan"));
  EXPECT_EQ(bare_words(""), "");
  EXPECT_EQ(bare_words(" ?! "), "");
}

TEST(BareWords, OtherWordsStayOthers) {
  EXPECT_NE(bare_words("Nan Tong"), bare_words("Nantong"));
  EXPECT_NE(bare_words("3.5 miles"), bare_words("35 miles"));
  EXPECT_NE(bare_words("pay $5"), bare_words("pay 5"));
  EXPECT_NE(bare_words("book a table"), bare_words("book the table"));
}

TEST(BareWords, TakesBytesThatAreNoText) {
  EXPECT_EQ(bare_words("a \xff"
                       "b"),
            bare_words("A \xfe"
                       "B"));
}

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

TEST(Backchannel, IsEveryWordOfTheList) {
  for (const char* words : {"Hm.", "mm-hm", "Yeah, okay!", "Uh... right", "Yes.", ""}) {
    EXPECT_TRUE(is_backchannel(words)) << words;
  }
  for (const char* words : {"no", "okay stop", "yeah but", "\xc3\xbc", "hmmm wait", "ja"}) {
    EXPECT_FALSE(is_backchannel(words)) << words;
  }
}

TEST(Backchannel, EachLanguageHasItsOwn) {
  EXPECT_TRUE(is_backchannel("Ja, genau. Mhm.", "de"));
  EXPECT_TRUE(is_backchannel("Ähm", "de"));
  EXPECT_FALSE(is_backchannel("yeah", "de"));
  EXPECT_TRUE(is_backchannel("はい。", "ja"));
  EXPECT_TRUE(is_backchannel("d'accord", "fr"));
  EXPECT_TRUE(is_backchannel("mm", "sw")) << "a language without a list has sounds";
  EXPECT_FALSE(is_backchannel("yeah", "sw"));
}

TEST(Backchannel, WhereNobodyKnowsTheLanguageAllOfThemCount) {
  EXPECT_TRUE(is_backchannel("yeah", ""));
  EXPECT_TRUE(is_backchannel("genau", ""));
  EXPECT_FALSE(is_backchannel("no", "")) << "which is a yes in Polish";
}

}  // namespace
}  // namespace predgen
