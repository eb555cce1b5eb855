#include "runtime/generate/priced_model.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

at::Tensor ids(int64_t count) { return at::arange(count, at::kLong).unsqueeze(0); }

TEST(PricedModel, CountsPassesAndChargesTheClock) {
  const FakeLanguageModel inner({});
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  const PricedModel model(inner, &clock,
                          {.per_pass = Seconds(0.5), .per_prefill_token = Seconds(0.01)});
  const auto cache = model.make_cache(1, 64);
  model.forward({.tokens_BT = ids(10), .num_logits = 1}, *cache);
  EXPECT_DOUBLE_EQ(clock.now().count(), 0.5 + 9 * 0.01);
  model.forward({.tokens_BT = ids(4)}, *cache);  // logits of all four: nothing is prefill
  EXPECT_DOUBLE_EQ(clock.now().count(), 1.0 + 9 * 0.01);
  EXPECT_EQ(model.num_passes(), 2);
  EXPECT_EQ(model.vocab_size(), inner.vocab_size());
}

TEST(PricedModel, LeavesAMeasuringClockAlone) {
  const FakeLanguageModel inner({});
  VirtualClock clock(VirtualClock::Computation::kMeasured);
  const PricedModel model(inner, &clock, {.per_pass = Seconds(1e6)});
  model.forward({.tokens_BT = ids(2)}, *model.make_cache(1, 8));
  EXPECT_LT(clock.now().count(), 1e5);
  const PricedModel counting(inner, nullptr, {});
  counting.forward({.tokens_BT = ids(2)}, *model.make_cache(1, 8));
  EXPECT_EQ(counting.num_passes(), 1);
}

}  // namespace
}  // namespace predgen
