#include "text/bare_words.h"

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

}  // namespace
}  // namespace predgen
