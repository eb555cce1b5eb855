#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hear/asr/decoder.h"

namespace predgen::ears {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string rest(const std::string& draft, const std::string& said) {
  return draft.substr(draft_place(draft, said));
}

TEST(DraftText, ADraftGoesOnBehindWhatWasSaid) {
  const std::string draft = " can I have a light roast coffee";
  EXPECT_EQ(rest(draft, ""), draft);
  EXPECT_EQ(rest(draft, " Can I have"), " a light roast coffee") << "capitals count for nothing";
  EXPECT_EQ(rest(draft, " can I have a light-"), "roast coffee");
  EXPECT_EQ(rest(draft, " can I have a light-ro"), "ast coffee");
  EXPECT_EQ(rest(draft, " can I save"), " a light roast coffee") << "another word";
  EXPECT_EQ(rest(draft, " can I please have"), " a light roast coffee") << "one more";
  EXPECT_EQ(rest(draft, " can have"), " a light roast coffee") << "one less";
  EXPECT_EQ(rest(" a coffee, please", " a coffee,"), " please");
  EXPECT_EQ(rest(" a coffee please", " a coffee,"), " please");
  EXPECT_EQ(rest(draft, draft + " with milk and sugar"), "");
}

TEST(DraftText, OfALongTextTheEndPlacesIt) {
  std::string draft, said;
  for (int i = 0; i < 100; ++i) draft += " word" + std::to_string(i);
  for (int i = 0; i < 70; ++i) said += " Word" + std::to_string(i);
  EXPECT_TRUE(rest(draft, said).starts_with(" word70 word71"));
  EXPECT_EQ(rest("", said), "");
}

TEST(DraftText, TextsBecomeTheLongestTokens) {
  TokenTexts texts;
  texts.add(1, " a");
  texts.add(2, " lo");
  texts.add(3, "t");
  texts.add(4, " lot");
  texts.add(5, " lot");
  texts.add(6, "");
  EXPECT_THAT(texts.tokens_of(" a lot"), ElementsAre(1, 4));
  EXPECT_THAT(texts.tokens_of(" lo"), ElementsAre(2));
  EXPECT_THAT(texts.tokens_of(" a!t"), ElementsAre(1)) << "nothing behind what has no token";
  EXPECT_THAT(texts.tokens_of(""), IsEmpty());
  const std::vector<int64_t> all{1, 5, 6, 77, 3};
  EXPECT_EQ(texts.bytes_of(all), " a lott");
}

}  // namespace
}  // namespace predgen::ears
