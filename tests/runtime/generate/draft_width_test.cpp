#include "runtime/generate/draft_width.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/pass_table.h"

namespace predgen {
namespace {

TEST(DraftWidth, IsAsWideAsPays) {
  EXPECT_EQ(DraftWidth(16).best(), 16);                                     // the cost is not known
  EXPECT_EQ(DraftWidth(3, {.costs = pass_table({1, 1, 1, 1})}).best(), 3);  // a GPU
  EXPECT_EQ(DraftWidth(3, {.costs = pass_table({1, 2, 3, 4})}).best(),
            0);  // each token a pass more
  EXPECT_EQ(DraftWidth(4, {.costs = pass_table({1, 1.01, 1.02, 2.9, 4})}).best(),
            2);  // a step in the cost
  EXPECT_EQ(DraftWidth(3, {.costs = pass_table({1, 1.2, 1.4, 1.6}), .first_rate = 0.9}).best(), 3);
  EXPECT_EQ(DraftWidth(3, {.costs = pass_table({1, 1.2, 1.4, 1.6}), .first_rate = 0.3}).best(), 1);
  EXPECT_EQ(DraftWidth(3, {.costs = pass_table({1, 1.2, 1.4, 1.6}), .first_rate = 0.1}).best(), 0);
}

TEST(DraftWidth, FollowsHowOftenGuessesAreRight) {
  const std::vector<double> seconds{1, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6};
  DraftWidth width(8, {.costs = pass_table(seconds)});
  for (int i = 0; i < 30; ++i) width.record(8, 8);
  EXPECT_EQ(width.best(), 8);
  for (int i = 0; i < 60; ++i) width.record(8, 0);
  EXPECT_EQ(width.best(), 0);
  width.record(0, 0);  // nothing was guessed
  EXPECT_EQ(width.best(), 0);
  for (int i = 0; i < 200; ++i) width.record(0, 0);
  EXPECT_GT(width.best(), 0);  // time to try again
  for (int i = 0; i < 30; ++i) width.record(4, 1);
  EXPECT_GT(width.best(), 0);
  EXPECT_LT(width.best(), 8);
}

/// Half of the drafts fail at once, and the others hold to their end.
TEST(DraftWidth, GuessesThatGoOnBeingRightAreWorthTheirPlaces) {
  std::vector<double> seconds;
  for (int width = 0; width <= 16; ++width) seconds.push_back(1 + 0.03 * width);
  DraftWidth lasting(16, {.costs = pass_table(seconds)}),
      independent(16, {.costs = pass_table(seconds)});
  for (int i = 0; i < 60; ++i) {
    lasting.record(16, i % 2 == 0 ? 0 : 16);
    independent.record(16, i % 2);
  }
  EXPECT_EQ(lasting.best(), 16);
  EXPECT_LT(independent.best(), 5);
  EXPECT_GT(independent.best(), 0);
}

/// What it chooses is what it learns from: a place where guesses once failed is tried again.
TEST(DraftWidth, GrowsAgainWhenGuessesAreRightAgain) {
  for (const double cost : {0.1, 0.15, 0.2, 0.3}) {
    std::vector<double> seconds;
    for (int width = 0; width <= 16; ++width) seconds.push_back(1 + cost * width);
    DraftWidth width(16, {.costs = pass_table(seconds)});
    for (int i = 0; i < 100; ++i) width.record(16, 2);
    EXPECT_LE(width.best(), 3) << cost;
    for (int i = 0; i < 200; ++i) width.record(width.best(), width.best());
    EXPECT_EQ(width.best(), 16) << cost;
  }
}

TEST(DraftWidth, MasksTakeRoomBehindEachToken) {
  const std::vector<int64_t> expected{0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3};
  for (int64_t width = 0; width <= 16; ++width) {
    EXPECT_EQ(masks_within(width, 3), expected[static_cast<size_t>(width)]) << width;
    EXPECT_EQ(masks_within(width, 2), std::min<int64_t>(masks_within(width, 3), 2));
  }
  EXPECT_EQ(masks_within(100, 0), 0);
  EXPECT_EQ(masks_within(100, -1), 0);
}

TEST(DraftWidth, CountsWhatMasksCost) {
  const auto best = [](double cost, double rate, int64_t widest = 15) {
    std::vector<double> seconds;
    for (int width = 0; width <= 20; ++width) seconds.push_back(1 + cost * width);
    return DraftWidth(widest, {.costs = pass_table(seconds), .first_rate = rate, .num_masks = 3})
        .best();
  };
  EXPECT_EQ(DraftWidth(16, {.num_masks = 3}).best(), 16);  // the cost is not known
  // Of one guess with two masks, two with six or three with twelve the one that pays most.
  EXPECT_EQ(best(0.3, 0.8), 0);
  EXPECT_EQ(best(0.2, 0.8), 3);
  EXPECT_EQ(best(0.06, 0.8), 8);
  EXPECT_EQ(best(0.02, 0.8), 15);
  EXPECT_EQ(best(0.02, 0.8, 20), 20);  // and what a source expects
  EXPECT_EQ(best(0.06, 0.1), 0);
}

TEST(DraftWidth, CountsWhatRunsAgain) {
  const auto best = [](bool reruns) {
    return DraftWidth(
               3, {.costs = pass_table({1, 1.6, 1.7, 1.8}), .first_rate = 0.5, .reruns = reruns})
        .best();
  };
  EXPECT_EQ(best(false), 3);  // 1.875 tokens for 1.8
  EXPECT_EQ(best(true), 0);   // of the 0.875 right ones 0.5 again, for 0.6 each
}

TEST(DraftWidth, RefusesNothing) {
  expect_user_error([] { DraftWidth(0); }, {"draft width", "0"});
  expect_user_error([] { DraftWidth(2, {.num_masks = 1}); }, {"draft width", "2", "at least 3"});
}

}  // namespace
}  // namespace predgen
