#include "serve/slots.h"

#include <gtest/gtest.h>

#include <vector>

namespace predgen::serve {
namespace {

TEST(Slots, OneClientLeavesSomeToOthers) {
  Slots slots(8);
  std::vector<std::shared_ptr<const void>> greedy;
  while (auto slot = slots.enter("greedy")) greedy.push_back(std::move(slot));
  EXPECT_EQ(greedy.size(), 6u);
  const auto first = slots.enter("other"), second = slots.enter("another");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(slots.enter("last")) << "all are taken";
  EXPECT_EQ(slots.num_taken(), 8);
  greedy.pop_back();
  EXPECT_TRUE(slots.enter("last")) << "its slot is free again at once";
  EXPECT_EQ(slots.num_taken(), 7);
  EXPECT_TRUE(slots.enter("greedy"));
}

TEST(Slots, OneIsForAnybody) {
  Slots slots(1);
  EXPECT_TRUE(slots.enter("first"));
  const auto slot = slots.enter("second");
  EXPECT_TRUE(slot);
  EXPECT_FALSE(slots.enter("second"));
}

}  // namespace
}  // namespace predgen::serve
