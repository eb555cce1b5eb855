#include "train/optim/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace predgen::train {
namespace {

at::Tensor weight(std::vector<float> values, at::IntArrayRef shape) {
  return at::tensor(values, at::kFloat).view(shape).clone().requires_grad_(true);
}

// The textbook, in double.
struct Scalar {
  double w, m = 0, v = 0;
  void step(double g, double lr, const AdamWOptions& o, int t, bool decays) {
    if (decays) w -= lr * o.weight_decay * w;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    w -=
        lr * (m / (1 - std::pow(o.beta1, t))) / (std::sqrt(v / (1 - std::pow(o.beta2, t))) + o.eps);
  }
};

TEST(AdamW, FollowsTheFormulaAndSparesVectors) {
  const AdamWOptions options{.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.5};
  const at::Tensor matrix = weight({1.0f}, {1, 1}), vector = weight({1.0f}, {1});
  AdamW optimizer({{"matrix", matrix}, {"vector", vector}}, options);
  Scalar a{1.0}, b{1.0};
  const std::vector<double> gradients{0.5, -2.0, 0.25};
  for (int t = 1; t <= 3; ++t) {
    const double g = gradients[static_cast<size_t>(t - 1)];
    matrix.mutable_grad().fill_(g);
    vector.mutable_grad().fill_(g);
    optimizer.step(0.1);
    a.step(g, 0.1, options, t, true);
    b.step(g, 0.1, options, t, false);
    EXPECT_NEAR(matrix.item<double>(), a.w, 1e-6) << t;
    EXPECT_NEAR(vector.item<double>(), b.w, 1e-6) << t;
  }
  EXPECT_GT(std::abs(a.w - b.w), 0.01);  // or the decay was not seen
}

TEST(AdamW, StateContinuesExactly) {
  const AdamWOptions options;
  const at::Tensor first = weight({1, 2, 3, 4}, {2, 2}), second = weight({1, 2, 3, 4}, {2, 2});
  AdamW a({{"w", first}}, options), b({{"w", second}}, options);
  for (int t = 0; t < 2; ++t) {
    for (const at::Tensor& w : {first, second}) w.mutable_grad().copy_(w.detach() * 0.1);
    a.step(0.01);
    if (t == 0) b.step(0.01);
    if (t == 0) {
      std::map<std::string, at::Tensor> saved;
      for (const auto& [name, tensor] : b.state()) saved[name] = tensor.clone();
      AdamW resumed({{"w", second}}, options);
      resumed.load_state(saved);
      second.mutable_grad().copy_(second.detach() * 0.1);
      resumed.step(0.01);
    }
  }
  EXPECT_TRUE(at::equal(first, second));
}

TEST(AdamW, RefusesAnotherRunsState) {
  AdamW optimizer({{"w", weight({1, 2}, {2})}}, {});
  auto state = optimizer.state();
  state.erase("v.w");
  EXPECT_THROW(optimizer.load_state(state), UserError);
  state = optimizer.state();
  state["m.other"] = at::zeros({2});
  EXPECT_THROW(optimizer.load_state(state), UserError);
  state = optimizer.state();
  state["m.w"] = at::zeros({3});
  EXPECT_THROW(optimizer.load_state(state), UserError);
}

double rate(ScheduleKind kind, int64_t step, double min_ratio = 0.0) {
  return learning_rate({kind, 1.0, min_ratio, /*warmup_steps=*/3, /*total_steps=*/11}, step);
}

TEST(LrSchedule, WarmsUpToThePeak) {
  for (const ScheduleKind kind :
       {ScheduleKind::kConstant, ScheduleKind::kLinear, ScheduleKind::kCosine}) {
    EXPECT_DOUBLE_EQ(rate(kind, 1), 0.25);
    EXPECT_DOUBLE_EQ(rate(kind, 2), 0.50);
    EXPECT_DOUBLE_EQ(rate(kind, 3), 0.75);
    EXPECT_DOUBLE_EQ(rate(kind, 4), 1.00);
  }
}

TEST(LrSchedule, FallsByItsKind) {
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::kConstant, 11), 1.0);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::kLinear, 8), 0.5);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::kLinear, 11), 0.125);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 8), 0.5, 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 6), 0.8535533905932737, 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 12, 0.1), 0.1, 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::kCosine, 8, 0.1), 0.55, 1e-12);
}

TEST(LrSchedule, HasNoWarmupByDefault) {
  EXPECT_DOUBLE_EQ(learning_rate({ScheduleKind::kCosine, 0.3, 0.0, 0, 1}, 1), 0.3);
}

}  // namespace
}  // namespace predgen::train
