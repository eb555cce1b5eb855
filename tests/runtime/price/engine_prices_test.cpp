#include "runtime/price/engine_prices.h"

#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/manual_clock.h"

namespace predgen {
namespace {

/// A token whose logits are asked for takes so long.
struct Timed {
  explicit Timed(double seconds, int64_t max_positions)
      : model({.max_positions = max_positions, .next = [this, seconds](TokenSpan) {
                 clock.set(clock.now().count() + seconds);
                 return TokenId{0};
               }}) {}

  ManualClock clock;
  FakeLanguageModel model;
  Engine engine = borrowing_engine(model);
};

TEST(MeasurePrices, HasEveryWidthAndFitsTheModel) {
  for (const int64_t positions : {20, 4096}) {
    Timed timed(0.001, positions);
    const PassPrices prices = measure_prices(timed.engine, 6, timed.clock);
    for (int64_t num_tokens = 1; num_tokens <= 7; ++num_tokens) {
      EXPECT_NEAR(prices.of(num_tokens).count(), 0.001 * static_cast<double>(num_tokens), 1e-9);
    }
    // The context, then widths 0, 1, 3 and 6, twice in each of five rounds.
    EXPECT_EQ(timed.model.num_passes, 1 + 4 * 2 * 5);
    expect_user_error([&] { measure_prices(timed.engine, positions); }, {"draft width", "context"});
  }
}

TEST(MeasurePrices, TakesOnePassOfEachWidthWherePassesAreLong) {
  Timed timed(0.1, 4096);
  EXPECT_NEAR(measure_prices(timed.engine, 6, timed.clock).of(7).count(), 0.7, 1e-9);
  EXPECT_EQ(timed.model.num_passes, 1 + 4 + 1);  // the narrowest, 0.1 s, is repeated
}

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
