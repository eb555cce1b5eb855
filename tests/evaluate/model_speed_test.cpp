#include "evaluate/model_speed.h"

#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen::evaluate {
namespace {

constexpr TokenId kStop = 3, kEndsAtOnce = 9;

/// A pass takes 10 s and 1 s for each token of it, and `extra`.
class TimedModel : public LanguageModel {
 public:
  explicit TimedModel(VirtualClock& clock) : clock_(clock) {}

  int64_t vocab_size() const override { return inner.vocab_size(); }
  int64_t max_positions() const override { return inner.max_positions(); }
  TokenSpan mask_tokens() const override { return {}; }
  bool gives_hidden() const override { return false; }
  KvLayout kv_layout() const override { return inner.kv_layout(); }
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    clock_.advance(Seconds(10.0 + static_cast<double>(steps.front().tokens.size()) + extra));
    return inner.forward(steps);
  }

  /// Answers of one token for ever; to a prompt with kEndsAtOnce, of none.
  FakeLanguageModel inner{{.vocab_size = 31, .max_positions = 200, .next = [](TokenSpan history) {
                             return history.front() == kEndsAtOnce ? kStop : TokenId{7};
                           }}};
  double extra = 0;

 private:
  VirtualClock& clock_;
};

struct SpeedFixture {
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  TimedModel model{clock};
  SpeedConfig config{.prompt = 20, .generate = 9, .drafts = {4, 6}, .runs = 3};
  SpeedTexts texts{.prompts = {{1, 2}}, .stop_tokens = {kStop}};

  ModelSpeed measure(const std::function<void()>& on_part = [] {}) {
    Engine engine = borrowing_engine(model);
    return measure_speed(engine, config, texts, clock, on_part, {});
  }
};

void expect_all(const std::vector<double>& values, double wanted) {
  ASSERT_EQ(values.size(), 3u);
  for (const double value : values) EXPECT_NEAR(value, wanted, 1e-9);
}

TEST(MeasureSpeed, TimesEachKindOfPass) {
  SpeedFixture fixture;
  const ModelSpeed speed = fixture.measure();
  expect_all(speed.prefill, 10 + 20);  // no prompt begins as the last one did
  expect_all(speed.step, 11);
  expect_all(speed.decode, 11);
  ASSERT_EQ(speed.verify.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const VerifySpeed& verify = speed.verify[i];
    EXPECT_EQ(verify.draft, fixture.config.drafts[i]);
    const double width = static_cast<double>(verify.draft) + 1;  // and the token before it
    expect_all(verify.seconds, 10 + width);
    expect_all(verify.in_steps, (10 + width) / 11);
  }
}

TEST(MeasureSpeed, AnswersTheTexts) {
  SpeedFixture fixture;
  const ModelSpeed speed = fixture.measure();
  ASSERT_EQ(speed.answers.size(), 3u);
  const AnswerSpeed& single = speed.answers[0];
  EXPECT_EQ(single.block, 1);
  const AnswerSpeed& jacobi = speed.answers[1];
  EXPECT_EQ(jacobi.block, 4);
  for (size_t run = 0; run < 3; ++run) {
    EXPECT_NEAR(*single.seconds_per_pass[run], 11, 1e-9);
    EXPECT_EQ(*single.passes_per_token[run], 1);
    EXPECT_NEAR(*single.tokens_per_second[run], 1.0 / 11, 1e-9);
    EXPECT_EQ(*single.speedup[run], 1);
    // Eight tokens after the prompt's own one: this seed's random guesses give two of them, the
    // model's own give four, and the two that are left take the last, narrower pass.
    EXPECT_EQ(*jacobi.passes_per_token[run], 3.0 / 8);
    EXPECT_NEAR(*jacobi.seconds_per_pass[run], (14.0 + 14 + 12) / 3, 1e-9);
    EXPECT_NEAR(*jacobi.tokens_per_second[run], 8.0 / 40, 1e-9);
    EXPECT_NEAR(*jacobi.speedup[run], 88.0 / 40, 1e-9);
  }
}

TEST(MeasureSpeed, TakesTextsInTurnAndLeavesEmptyAnswersOut) {
  SpeedFixture fixture;
  fixture.texts.prompts.push_back({kEndsAtOnce, 2});
  const ModelSpeed speed = fixture.measure();
  for (const AnswerSpeed& answer : speed.answers) {
    EXPECT_TRUE(answer.speedup[0] && answer.speedup[2]);
    EXPECT_FALSE(answer.seconds_per_pass[1] || answer.passes_per_token[1] ||
                 answer.tokens_per_second[1] || answer.speedup[1]);
  }
}

TEST(MeasureSpeed, DoesNotCountTheFirstRun) {
  SpeedFixture fixture;
  fixture.model.extra = 1e6;
  const int64_t parts = num_speed_parts(fixture.config);
  int64_t done = 0;
  const ModelSpeed speed = fixture.measure([&] {
    if (++done == parts / (fixture.config.runs + 1)) fixture.model.extra = 0;
  });
  EXPECT_EQ(done, parts);
  expect_all(speed.prefill, 30);
  expect_all(speed.decode, 11);
  EXPECT_LT(*speed.answers[2].seconds_per_pass[0], 20);
}

TEST(MeasureSpeed, RefusesMoreThanTheModelsPositions) {
  SpeedFixture fixture;
  fixture.config.prompt = 191;  // and nine
  EXPECT_NO_THROW(fixture.measure());
  fixture.config.prompt = 192;
  EXPECT_THROW(fixture.measure(), Error);
}

}  // namespace
}  // namespace predgen::evaluate
