#include "runtime/price/charge_passes.h"

#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

TEST(ChargePasses, CountsEveryPassByTheClock) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model, {.pass_tokens = 8});
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  engine.observe_passes(charge_passes(clock, PassPrices::given(Seconds(0.5), Seconds(0.01))));
  Sequence sequence = sequence_of(engine, TokenIds(10, 1), 64);
  engine.run({.sequence = &sequence});  // 8 tokens, then 2
  EXPECT_DOUBLE_EQ(clock.now().count(), 2 * 0.5 + 10 * 0.01);
  sequence.append(TokenIds{2});
  engine.run({.sequence = &sequence, .draft = TokenIds{1, 2, 3}});  // drafted ones cost the same
  EXPECT_DOUBLE_EQ(clock.now().count(), 3 * 0.5 + 14 * 0.01);
  engine.observe_passes({});
  sequence.append(TokenIds{2});
  engine.run({.sequence = &sequence});
  EXPECT_DOUBLE_EQ(clock.now().count(), 3 * 0.5 + 14 * 0.01);
}

TEST(ChargePasses, LeavesAMeasuringClockAlone) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  VirtualClock clock(VirtualClock::Computation::kMeasured);
  engine.observe_passes(charge_passes(clock, PassPrices::given(Seconds(1e6))));
  Sequence sequence = sequence_of(engine, TokenIds{1, 2}, 8);
  engine.run({.sequence = &sequence});
  EXPECT_LT(clock.now().count(), 1e5);
}

}  // namespace
}  // namespace predgen
