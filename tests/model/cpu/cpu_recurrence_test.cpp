// Layers that keep a state by our own kernels, against LibTorch's operators and in passes of other
// widths.
#include "model/cpu/cpu_recurrence.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "model/cpu/cpu_pass.h"
#include "tests/fakes/hybrid_models.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/logits_in_passes.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

constexpr int64_t kTokens = 70;

class CpuRecurrenceOf : public testing::TestWithParam<HybridCase> {
 protected:
  std::unique_ptr<Transformer> make(at::ScalarType type = at::kFloat) const {
    auto model = Transformer::initialize(GetParam().config(), 1, type);
    randomise(*model);
    return model;
  }
};
INSTANTIATE_TEST_SUITE_P(, CpuRecurrenceOf,
                         testing::Values(HybridCase{"Delta", delta_config},
                                         HybridCase{"Convolution", convolution_config}),
                         [](const auto& test) { return test.param.name; });

TEST_P(CpuRecurrenceOf, Float32IsLibTorchs) {
  const auto model = make();
  EXPECT_EQ(CpuPass::refusal(model->config()), "");
  model->set_kernels(false);
  const at::Tensor exact = logits_in_passes(*model, some_tokens(kTokens), kTokens);
  EXPECT_LT(relative(logits_in_passes(*model, some_tokens(kTokens), 1), exact), 3e-5)
      << "one by one is in chunks";
  model->set_kernels(true);
  EXPECT_LT(relative(logits_in_passes(*model, some_tokens(kTokens), kTokens), exact), 1e-5);
}

TEST_P(CpuRecurrenceOf, GivesTheSameBitsInPassesOfAnyWidthAndOnAnyThreads) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto model = make(type);
    const at::Tensor alone = logits_in_passes(*model, some_tokens(kTokens), 1);
    const int before = at::get_num_threads();
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      for (const int64_t width : {3L, 16L, kTokens}) {
        EXPECT_TRUE(at::equal(logits_in_passes(*model, some_tokens(kTokens), width), alone))
            << width << " tokens, " << threads << " threads";
      }
    }
    at::set_num_threads(before);
  }
}

/// Two texts in a pass, one with a tree of drafts: each token as in a text of its own.
TEST_P(CpuRecurrenceOf, SharedPassesAndTreesGiveTheSameBits) {
  const auto model = make();
  KvPool pool(model->kv_layout());
  const auto first = pool.make_state(100), second = pool.make_state(100);
  model->forward({.state = first.get(), .tokens = TokenIds{1, 2, 3, 4, 5}});
  const at::Tensor tree_TT = at::ones({5, 5}, at::kBool).tril();
  tree_TT.narrow(0, 3, 2).narrow(1, 1, 2).fill_(false);  // two paths of two after one token
  const TokenIds drafts{6, 7, 8, 9, 10}, others{11, 12};
  const std::vector<SequenceStep> steps{{.state = first.get(),
                                         .tokens = drafts,
                                         .num_logits = 5,
                                         .tree_TT = tree_TT,
                                         .num_drafted = 4},
                                        {.state = second.get(), .tokens = others, .num_logits = 2}};
  const at::Tensor found = model->forward(steps);
  const auto alone = [&](const TokenIds& tokens, int64_t num_last) {
    const at::Tensor all = logits_in_passes(*model, tokens, 1);
    return all.narrow(0, all.size(0) - num_last, num_last);
  };
  EXPECT_TRUE(at::equal(found.narrow(0, 0, 3), alone({1, 2, 3, 4, 5, 6, 7, 8}, 3)));
  EXPECT_TRUE(at::equal(found.narrow(0, 3, 2), alone({1, 2, 3, 4, 5, 6, 9, 10}, 2)));
  EXPECT_TRUE(at::equal(found.narrow(0, 5, 2), alone({11, 12}, 2)));
  EXPECT_EQ(first->return_to(6), 6) << "the last token that is no draft";
}

/// What kernels leave, operators go on from, and the other way around.
TEST_P(CpuRecurrenceOf, KeepsStatesAsTheOperatorsDo) {
  const auto model = make();
  const at::Tensor expected = logits_in_passes(*model, some_tokens(40), 40).narrow(0, 30, 10);
  for (const bool first : {false, true}) {
    KvPool pool(model->kv_layout());
    const auto state = pool.make_state(100);
    const TokenIds tokens = some_tokens(40);
    model->set_kernels(first);
    model->forward({.state = state.get(), .tokens = TokenSpan(tokens).first(30)});
    model->set_kernels(!first);
    const at::Tensor found = model->forward(
        {.state = state.get(), .tokens = TokenSpan(tokens).subspan(30), .num_logits = 10});
    EXPECT_LT(relative(found, expected), 1e-5);
  }
}

TEST_P(CpuRecurrenceOf, SeesWeightsChange) {
  const auto model = make();
  const at::Tensor before = logits_in_passes(*model, some_tokens(9), 9);
  for (auto& [name, weight] : model->named_weights()) {
    if (weight.dim() != 2) at::Tensor(weight).mul_(0.5);
  }
  const at::Tensor after = logits_in_passes(*model, some_tokens(9), 9);
  EXPECT_GT(relative(after, before), 1e-3);
  model->set_kernels(false);
  EXPECT_LT(relative(after, logits_in_passes(*model, some_tokens(9), 9)), 1e-5);
}

}  // namespace
}  // namespace predgen
