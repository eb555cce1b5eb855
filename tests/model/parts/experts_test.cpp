#include "model/parts/experts.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/parts/operators.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

struct Built {
  ModelConfig config = small_config();
  std::optional<Experts> experts;
};

Built build(const ExpertsSpec& spec) {
  Built built;
  std::map<std::string, at::Tensor> tensors;
  std::vector<WeightSpec> weights;
  LayerWeights to(0, weights);
  Experts::add_weights(built.config, spec, to);
  uint64_t seed = 1;
  for (const WeightSpec& weight : weights)
    tensors[weight.name] = normal(weight.shape, seed++) * 0.3;
  const WeightByName by_name = [&](const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? at::Tensor() : found->second;
  };
  built.experts.emplace(spec, LayerSource(0, by_name));
  return built;
}

/// Every expert for every token, as a sum with weights of which most are zero.
at::Tensor by_the_book(const Experts& experts, const at::Tensor& x_TE) {
  const ExpertsSpec& spec = experts.spec;
  at::Tensor logits = at::matmul(x_TE, experts.router.weight.t());
  if (experts.router.bias.defined()) logits = logits + experts.router.bias;
  at::Tensor scores = spec.routing == Routing::kSoftmax   ? at::softmax(logits, -1)
                      : spec.routing == Routing::kSigmoid ? at::sigmoid(logits)
                                                          : logits;
  at::Tensor compared = scores;
  if (experts.score_bias.defined()) compared = compared + experts.score_bias;
  at::Tensor weights = at::zeros_like(scores), sum = at::zeros_like(x_TE);
  for (int64_t t = 0; t < x_TE.size(0); ++t) {
    const at::Tensor chosen =
        compared[t].argsort(-1, /*descending=*/true).narrow(0, 0, spec.chosen);
    at::Tensor own = scores[t].index_select(0, chosen);
    if (spec.routing == Routing::kSoftmaxOfChosen) own = at::softmax(own, -1);
    if (spec.is_normalised) own = own / (own.sum() + spec.sum_offset);
    weights[t].index_copy_(0, chosen, own * spec.scale);
  }
  for (size_t i = 0; i < experts.all.size(); ++i) {
    const Experts::Expert& one = experts.all[i];
    const at::Tensor opened = activated(spec.activation, one.gate(x_TE), one.up(x_TE));
    sum = sum + weights.narrow(1, static_cast<int64_t>(i), 1) * one.down(opened);
  }
  if (experts.shared) {
    sum = sum + at::sigmoid(experts.share(x_TE)) * (*experts.shared)(x_TE, {});
  }
  return sum;
}

std::vector<ExpertsSpec> specs() {
  const ExpertsSpec plain{.count = 6, .chosen = 2, .width = 16};
  std::vector<ExpertsSpec> all(6, plain);
  all[1].is_normalised = true;
  all[1].chosen = 6;
  all[2].routing = Routing::kSoftmaxOfChosen;
  all[2].router_bias = all[2].bias = true;
  all[2].activation = Activation::kClampedSwiglu;
  all[3].routing = Routing::kSigmoid;  // LFM2's
  all[3].score_bias = all[3].is_normalised = true;
  all[3].sum_offset = 1e-6;
  all[3].scale = 1.5;
  all[4].shared_width = 24;
  all[5].activation = Activation::kGeluTanh;
  all[5].chosen = 1;
  return all;
}

class ExpertsOf : public testing::TestWithParam<ExpertsSpec> {};
INSTANTIATE_TEST_SUITE_P(, ExpertsOf, testing::ValuesIn(specs()),
                         [](const auto& test) { return fmt::format("spec{}", test.index); });

TEST_P(ExpertsOf, GiveTheWeightedSumOfThoseChosen) {
  const at::NoGradGuard no_grad;
  const Built built = build(GetParam());
  const at::Tensor x_TE = normal({23, 32}, 9);
  const at::Tensor exact = by_the_book(*built.experts, x_TE);
  const at::Tensor found = (*built.experts)(built.config, x_TE, x_TE, {});
  EXPECT_LT(relative(found, exact), 1e-5);
  const at::Tensor in_rows =
      (*built.experts)(built.config, x_TE.view({1, 23, 32}), x_TE.view({1, 23, 32}), {});
  EXPECT_TRUE(at::equal(in_rows[0], found));
}

TEST_P(ExpertsOf, HaveTheGradientsOfThatSum) {
  const Built built = build(GetParam());
  const auto gradient = [&](const auto& run) {
    const at::Tensor x_TE = normal({9, 32}, 9).requires_grad_();
    (run(x_TE) * normal({9, 32}, 10)).sum().backward();
    return x_TE.grad().clone();
  };
  const at::Tensor exact =
      gradient([&](const at::Tensor& x_TE) { return by_the_book(*built.experts, x_TE); });
  const at::Tensor found = gradient(
      [&](const at::Tensor& x_TE) { return (*built.experts)(built.config, x_TE, x_TE, {}); });
  EXPECT_LT(relative(found, exact), 1e-5);
}

/// Gemma 4's: the router has a norm of its own, and experts have factors.
TEST(Experts, TheRouterMayScaleWhatItSees) {
  const at::NoGradGuard no_grad;
  const ExpertsSpec spec{.count = 4,
                         .chosen = 4,
                         .width = 16,
                         .is_normalised = true,
                         .input_scale = true,
                         .expert_scale = true};
  const Built built = build(spec);
  const at::Tensor x_TE = normal({5, 32}, 9), routed_TE = normal({5, 32}, 8) * 7;
  const Experts& experts = *built.experts;
  const at::Tensor normed =
      routed_TE * at::rsqrt(routed_TE.square().mean(-1, true) + built.config.rms_norm_eps);
  const at::Tensor weights_TX =
      at::softmax(
          at::matmul(normed * experts.input_scale / std::sqrt(32.0), experts.router.weight.t()),
          -1) *
      experts.expert_scale;
  at::Tensor exact = at::zeros_like(x_TE);
  for (int64_t i = 0; i < 4; ++i) {
    const Experts::Expert& one = experts.all[static_cast<size_t>(i)];
    exact = exact + weights_TX.narrow(1, i, 1) * one.down(at::silu(one.gate(x_TE)) * one.up(x_TE));
  }
  EXPECT_LT(relative(experts(built.config, x_TE, routed_TE, {}), exact), 1e-5);
}

}  // namespace
}  // namespace predgen
