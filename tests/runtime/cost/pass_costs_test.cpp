#include "runtime/cost/pass_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "tests/fakes/pass_table.h"

namespace predgen {
namespace {

TEST(PassCosts, AreALineWhereTheyAreGiven) {
  const PassCosts costs = PassCosts::given(Seconds(0.5), Seconds(0.25));
  EXPECT_TRUE(costs.is_known());
  EXPECT_FALSE(costs.is_flat());
  EXPECT_EQ(costs.of(1), Seconds(0.75));
  EXPECT_EQ(costs.of(10), Seconds(3));
  EXPECT_EQ(costs.line()->per_token, Seconds(0.25));
  EXPECT_TRUE(PassCosts::given(Seconds(0.5)).is_flat());
}

TEST(PassCosts, AreOnLinesBetweenAndBehindWhatWasMeasured) {
  const PassCosts costs = PassCosts::measured({{1, Seconds(1)}, {3, Seconds(2)}, {7, Seconds(10)}});
  for (const auto& [num_tokens, seconds] :
       {std::pair<int64_t, double>{1, 1}, {2, 1.5}, {3, 2}, {4, 4}, {6, 8}, {7, 10}, {9, 14}}) {
    EXPECT_EQ(costs.of(num_tokens), Seconds(seconds)) << num_tokens;
  }
  EXPECT_FALSE(costs.line());
  EXPECT_FALSE(pass_table({1, 1}).is_flat());  // only what was given is flat
  EXPECT_EQ(pass_table({2}).of(9), Seconds(2));
}

TEST(PassCosts, AreNotKnownByDefault) {
  const PassCosts costs;
  EXPECT_FALSE(costs.is_known());
  EXPECT_TRUE(costs.is_flat());
  EXPECT_EQ(costs.draft_cost(), 1);
  EXPECT_THROW(costs.of(1), Error);
  EXPECT_THROW(PassCosts::given(Seconds(1)).of(0), Error);
  for (const std::vector<PassCosts::Point>& wrong :
       {std::vector<PassCosts::Point>{}, {{2, Seconds(1)}}, {{1, Seconds(1)}, {1, Seconds(2)}}}) {
    EXPECT_THROW(PassCosts::measured(wrong), Error);
  }
}

TEST(PassCosts, ADraftModelHasItsOwn) {
  const PassCosts costs = PassCosts::given(Seconds(1), Seconds(1))
                              .with_draft_model(PassCosts::given(Seconds(0.5), Seconds(0)));
  EXPECT_EQ(costs.draft_cost(), 0.25);
  EXPECT_EQ(costs.of_draft_model().of(3), Seconds(0.5));
  EXPECT_EQ(costs.of(3), Seconds(4));
  EXPECT_FALSE(costs.of_draft_model().of_draft_model().is_known());
  const PassCosts free = PassCosts::given(Seconds(0));
  EXPECT_EQ(free.with_draft_model(costs).draft_cost(), 1);  // there is no share of nothing
}

TEST(PassCosts, SoManyTokensAsTheGrowthOfAPassAllows) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const auto tokens_for = [](double steps, const std::vector<double>& seconds) {
    return pass_table(seconds).tokens_for(steps);
  };
  EXPECT_EQ(tokens_for(1, {2.0, 2.5, 3.0}), 4);  // half a second each, a step takes two
  EXPECT_EQ(tokens_for(3, {2.0, 2.5, 3.0}), 12);
  EXPECT_EQ(tokens_for(1, {2.0, 2.0}), kAny);
  EXPECT_EQ(tokens_for(1, {2.0, 1.9}), kAny);
  EXPECT_EQ(tokens_for(1, {2.0}), kAny);
  EXPECT_EQ(tokens_for(1, {}), kAny);
  EXPECT_EQ(PassCosts::given(Seconds(1.5), Seconds(0.5)).tokens_for(2), 8);
  EXPECT_EQ(PassCosts::given(Seconds(1.5)).tokens_for(2), kAny);
}

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
