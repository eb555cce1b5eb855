#include "serve/places.h"

#include <gtest/gtest.h>

#include <vector>

namespace predgen::serve {
namespace {

TEST(Places, OneClientLeavesSomeToOthers) {
  Places places(8);
  std::vector<std::shared_ptr<const void>> greedy;
  while (auto place = places.enter("greedy")) greedy.push_back(std::move(place));
  EXPECT_EQ(greedy.size(), 6u);
  const auto first = places.enter("other"), second = places.enter("another");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(places.enter("last")) << "all are taken";
  EXPECT_EQ(places.num_taken(), 8);
  greedy.pop_back();
  EXPECT_TRUE(places.enter("last")) << "its place is free again at once";
  EXPECT_EQ(places.num_taken(), 7);
  EXPECT_TRUE(places.enter("greedy"));
}

TEST(Places, OneIsForAnybody) {
  Places places(1);
  EXPECT_TRUE(places.enter("first"));
  const auto place = places.enter("second");
  EXPECT_TRUE(place);
  EXPECT_FALSE(places.enter("second"));
}

}  // namespace
}  // namespace predgen::serve
