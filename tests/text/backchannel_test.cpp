#include "text/backchannel.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

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
