#include "cli/suiting_models.h"

#include <gtest/gtest.h>

#include <vector>

namespace predgen::cli {
namespace {

TEST(SuitingModels, TheLargestThatIsFastEnoughAndFits) {
  const SuitingModel small{"small", 100, 80}, middle{"middle", 500, 16}, large{"large", 1100, 7};
  SuitingModel huge{"huge", 9000, 1000, false};
  EXPECT_EQ(choose_suiting(std::vector{small, middle, large, huge}, 8), 1);
  EXPECT_EQ(choose_suiting(std::vector{small, middle, large, huge}, 40), 0);
  EXPECT_EQ(choose_suiting(std::vector{large, small}, 8), 1);
  SuitingModel slow = large;
  slow.tokens_per_second = 3;
  EXPECT_EQ(choose_suiting(std::vector{slow, large}, 8), 1) << "none is fast enough: the fastest";
  EXPECT_EQ(choose_suiting(std::vector{huge}, 8), std::nullopt);
  EXPECT_EQ(choose_suiting({}, 8), std::nullopt);
}

TEST(SuitingModels, ThePresentOnesAreDescribed) {
  EXPECT_EQ(describe_suiting({}), "");
  const std::string text =
      describe_suiting(std::vector<SuitingModel>{{"small", 100'000'000, 80}, {"large", 900, 5}});
  EXPECT_NE(text.find("small"), std::string::npos);
  EXPECT_NE(text.find("large                     0 MB  about 5 tokens/s: just as fast"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with(
      "To speak with: predgen talk --model small\n  To type to:    predgen chat --model small\n"))
      << text;
}

TEST(SuitingModels, OneThatSuitsBetterIsNamed) {
  const std::vector<SuitingModel> models{
      {"small", 100, 80}, {"middle", 500, 16}, {"large", 900, 3}};
  EXPECT_EQ(name_better(models, "small"),
            "middle, which is here, suits this machine better (about 16 tokens/s): --model middle");
  EXPECT_NE(name_better(models, "large"), "") << "slower than speech";
  EXPECT_EQ(name_better(models, "middle"), "");
  EXPECT_EQ(name_better(models, "/a/model/of/its/own"), "");
  EXPECT_EQ(name_better({}, "small"), "");
}

}  // namespace
}  // namespace predgen::cli
