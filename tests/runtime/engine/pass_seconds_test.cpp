#include "runtime/engine/pass_seconds.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

TEST(MeasurePassSeconds, HasEveryWidthAndFitsTheModel) {
  for (const int64_t positions : {20, 4096}) {
    const FakeLanguageModel model({.max_positions = positions});
    Engine engine = borrowing_engine(model);
    const std::vector<double> seconds = measure_pass_seconds(engine, 6);
    ASSERT_EQ(seconds.size(), 7u);
    for (const double one : seconds) EXPECT_GT(one, 0);
    EXPECT_EQ(model.num_passes % (4 * 2), 0) << "widths 0, 1, 3 and 6, twice in each round";
    EXPECT_LE(model.num_passes, 4 * 2 * 5);
    EXPECT_DOUBLE_EQ(seconds[2], (seconds[1] + seconds[3]) / 2);
    EXPECT_NEAR(seconds[5] - seconds[4], (seconds[6] - seconds[3]) / 3, 1e-12);
    expect_user_error([&] { measure_pass_seconds(engine, positions); }, {"draft width", "context"});
  }
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
