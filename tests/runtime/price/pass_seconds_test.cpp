#include "runtime/price/pass_seconds.h"

#include <gtest/gtest.h>

#include <limits>

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

TEST(MeasurePassSeconds, HasEveryWidthAndFitsTheModel) {
  for (const int64_t positions : {20, 4096}) {
    Timed timed(0.001, positions);
    const std::vector<double> seconds = measure_pass_seconds(timed.engine, 6, timed.clock);
    ASSERT_EQ(seconds.size(), 7u);
    for (size_t width = 0; width < 7; ++width) {
      EXPECT_NEAR(seconds[width], 0.001 * static_cast<double>(width + 1), 1e-9);
    }
    // Widths 0, 1, 3 and 6, twice in each of five rounds.
    EXPECT_EQ(timed.model.num_passes, 4 * 2 * 5);
    expect_user_error([&] { measure_pass_seconds(timed.engine, positions); },
                      {"draft width", "context"});
  }
}

TEST(MeasurePassSeconds, TakesOneRoundWherePassesAreLong) {
  Timed timed(0.1, 4096);
  EXPECT_NEAR(measure_pass_seconds(timed.engine, 6, timed.clock).back(), 0.7, 1e-9);
  EXPECT_EQ(timed.model.num_passes, 4 * 2);
}

TEST(TokensFor, SoManyAsTheGrowthOfAPassAllows) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(tokens_for(1, {2.0, 2.5, 3.0}), 4);  // half a second each, a step takes two
  EXPECT_EQ(tokens_for(3, {2.0, 2.5, 3.0}), 12);
  EXPECT_EQ(tokens_for(1, {2.0, 2.0}), kAny);
  EXPECT_EQ(tokens_for(1, {2.0, 1.9}), kAny);
  EXPECT_EQ(tokens_for(1, {2.0}), kAny);
  EXPECT_EQ(tokens_for(1, {}), kAny);
}

}  // namespace
}  // namespace predgen
