#include <gtest/gtest.h>

#include "cli/terminal/display_text.h"

namespace predgen::cli {
namespace {

TEST(HeardAndDraft, TheDraftIsCutAndNotTheUsersWords) {
  EXPECT_EQ(heard_and_draft("what is", "", 40), "> what is");
  EXPECT_EQ(heard_and_draft("what is", "It is Paris.", 40), "> what is  ~ It is Paris.");
  EXPECT_EQ(heard_and_draft("what is", "It is\nParis, the", 22), "> what is  ~ It is Par");
  EXPECT_EQ(heard_and_draft("what is the capital", "It is Paris", 26), "> what is the capital");
  EXPECT_EQ(heard_and_draft("what is the capital of France", "Paris", 20), "> capital of France");
  EXPECT_EQ(heard_and_draft("今天天气", "好的，今天天气", 22), "> 今天天气  ~ 好的，今");
  EXPECT_EQ(heard_and_draft("今天天气", "", 9), "> 天天气");
}

}  // namespace
}  // namespace predgen::cli
