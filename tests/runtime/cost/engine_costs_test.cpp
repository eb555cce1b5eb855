#include "runtime/cost/engine_costs.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(MeasureCosts, HasEveryWidthAndFitsTheModel) {
  for (const int64_t positions : {20, 4096}) {
    Timed timed(0.001, positions);
    const PassCosts costs = measure_costs(timed.engine, 6, timed.clock);
    for (int64_t num_tokens = 1; num_tokens <= 7; ++num_tokens) {
      EXPECT_NEAR(costs.of(num_tokens).count(), 0.001 * static_cast<double>(num_tokens), 1e-9);
    }
    // The context, then widths 0, 1, 3 and 6, twice in each of five rounds.
    EXPECT_EQ(timed.model.num_passes, 1 + 4 * 2 * 5);
    expect_user_error([&] { measure_costs(timed.engine, positions); }, {"draft width", "context"});
  }
}

TEST(MeasureCosts, TakesOnePassOfEachWidthWherePassesAreLong) {
  Timed timed(0.1, 4096);
  EXPECT_NEAR(measure_costs(timed.engine, 6, timed.clock).of(7).count(), 0.7, 1e-9);
  EXPECT_EQ(timed.model.num_passes, 1 + 4 + 1);  // the narrowest, 0.1 s, is repeated
}

/// A pass takes 8 ms, 1 ms for each token, and so many seconds for each cached one that is read.
class ReadingModel : public LanguageModel {
 public:
  struct Reading {
    double first = 0, further = 0;
  };
  ReadingModel(ManualClock& clock, Reading reading, int64_t max_positions)
      : clock_(clock), reading_(reading), max_positions_(max_positions) {}

  int64_t vocab_size() const override { return 1; }
  int64_t max_positions() const override { return max_positions_; }
  TokenSpan mask_tokens() const override { return {}; }
  bool gives_hidden() const override { return false; }
  KvLayout kv_layout() const override {
    return {.num_layers = 2, .num_kv_heads = 1, .head_dim = 1, .options = at::kByte};
  }
  using LanguageModel::forward;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    const SequenceStep& step = steps.front();
    const auto count = static_cast<double>(step.tokens.size()),
               cached = static_cast<double>(step.state->length());
    longest = std::max(longest, step.state->length());
    clock_.set(clock_.now().count() + 0.008 + 0.001 * count +
               cached * (reading_.first + reading_.further * (count - 1)));
    const at::Tensor none = at::zeros({1, 1, std::ssize(step.tokens), 1}, at::kByte);
    for (int64_t layer = 0; layer < 2; ++layer) step.state->append(layer, none, none);
    step.state->commit(std::ssize(step.tokens));
    return at::zeros({step.num_logits, 1});
  }
  mutable int64_t longest = 0;  // cache

 private:
  ManualClock& clock_;
  const Reading reading_;
  const int64_t max_positions_;
};

TEST(MeasureReading, TellsWhatACachedTokenCosts) {
  for (const int64_t positions : {400, 4096}) {
    ManualClock clock;
    const ReadingModel model(clock, {.first = 4e-6, .further = 1e-6}, positions);
    Engine engine = borrowing_engine(model);
    const ReadingCosts costs = measure_reading(engine, clock);
    const double pass = 0.009 + 128 * 4e-6;  // over one token
    EXPECT_NEAR(costs.first, 4e-6 / pass, 1e-9);
    EXPECT_NEAR(costs.further, 1e-6 / pass, 1e-9);
    EXPECT_EQ(model.longest, std::min<int64_t>(2048, positions - 8));
    EXPECT_EQ(engine.pool().num_allocated(), 0);
  }
}

TEST(MeasureReading, IsNothingWhereItCannotBeTold) {
  ManualClock clock;
  const ReadingModel small(clock, {.first = 4e-6, .further = 4e-6}, 200),
      sooner(clock, {.first = -1e-7, .further = -1e-8}, 4096);
  for (const ReadingModel* model : {&small, &sooner}) {
    Engine engine = borrowing_engine(*model);
    const ReadingCosts costs = measure_reading(engine, clock);
    EXPECT_EQ(costs.first, 0);
    EXPECT_EQ(costs.further, 0);
  }
  EXPECT_EQ(small.longest, 0);
}

TEST(ChargePasses, CountsEveryPassByTheClock) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model, {.pass_tokens = 8});
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  engine.observe_passes(charge_passes(clock, PassCosts::given(Seconds(0.5), Seconds(0.01))));
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
  engine.observe_passes(charge_passes(clock, PassCosts::given(Seconds(1e6))));
  Sequence sequence = sequence_of(engine, TokenIds{1, 2}, 8);
  engine.run({.sequence = &sequence});
  EXPECT_LT(clock.now().count(), 1e5);
}

}  // namespace
}  // namespace predgen
