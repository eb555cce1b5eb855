#include "runtime/price/measure_prices.h"

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
    // Widths 0, 1, 3 and 6, twice in each of five rounds.
    EXPECT_EQ(timed.model.num_passes, 4 * 2 * 5);
    expect_user_error([&] { measure_prices(timed.engine, positions); }, {"draft width", "context"});
  }
}

TEST(MeasurePrices, TakesOneRoundWherePassesAreLong) {
  Timed timed(0.1, 4096);
  EXPECT_NEAR(measure_prices(timed.engine, 6, timed.clock).of(7).count(), 0.7, 1e-9);
  EXPECT_EQ(timed.model.num_passes, 4 * 2);
}

}  // namespace
}  // namespace predgen
