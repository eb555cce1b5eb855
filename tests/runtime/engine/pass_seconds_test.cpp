#include "runtime/engine/pass_seconds.h"

#include <gtest/gtest.h>

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
    // Widths 0, 1, 2, 4 and 6, five times each, after the context.
    EXPECT_EQ(model.num_passes, 1 + 5 * 5);
    EXPECT_DOUBLE_EQ(seconds[3], (seconds[2] + seconds[4]) / 2);
    expect_user_error([&] { measure_pass_seconds(engine, positions); }, {"draft width", "context"});
  }
}

}  // namespace
}  // namespace predgen
