#include "runtime/cost/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace predgen {
namespace {

TEST(Roofline, IsBytesOverBandwidthAndOperationsOverPeak) {
  // 7.6 thousand million parameters in bfloat16 on an H100: 4.54 ms a pass, 15.4 us a token.
  const auto card = std::ranges::find(cards(), std::string_view("h100"), &Card::name);
  ASSERT_NE(card, cards().end());
  const PassCosts cost = roofline({.bytes = 15.2e9, .flops_per_token = 15.2e9}, *card);
  EXPECT_NEAR(cost.line()->per_pass.count(), 4.537e-3, 1e-6);
  EXPECT_NEAR(cost.line()->per_token.count(), 15.36e-6, 1e-8);
  EXPECT_NEAR(cost.of(33).count(), 4.537e-3 + 33 * 15.36e-6, 2e-6);
}

}  // namespace
}  // namespace predgen
