// An adapter that counts for mask tokens alone: other tokens are the base model's, masks are what a
// whole row with the same gate gives.
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/fakes/gated_adapter.h"
#include "tests/fakes/logits_in_passes.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

constexpr int64_t kLength = 24;
const TokenIds kMasks{5, 6, 7};

/// With an adapter that counts everywhere until set_mask_tokens().
std::unique_ptr<Transformer> masked_model() {
  auto model = small_model();
  attach_random_lora(*model);
  return model;
}

class MaskTokens : public testing::TestWithParam<bool> {
 protected:
  MaskTokens() { model_->set_kernels(GetParam()); }

  /// Logits of `before`, in one pass, and behind it of masks after its tokens `places`.
  at::Tensor run(const TokenIds& before, const std::vector<int64_t>& places) const {
    TokenIds tokens = before;
    const auto length = std::ssize(before), k = std::ssize(kMasks);
    const int64_t total = length + std::ssize(places) * k;
    const at::Tensor tree_TT = at::eye(total, at::kBool);
    tree_TT.narrow(0, 0, length)
        .narrow(1, 0, length)
        .copy_(at::ones({length, length}, at::kBool).tril());
    for (const int64_t place : places) {
      const auto begin = std::ssize(tokens);
      for (int64_t j = 0; j < k; ++j) {
        tree_TT[begin + j].narrow(0, 0, place + 1).fill_(true);
        tree_TT[begin + j].narrow(0, begin, j + 1).fill_(true);
      }
      tokens.insert(tokens.end(), kMasks.begin(), kMasks.end());
    }
    KvPool pool(model_->kv_layout());
    const auto cache = pool.make_state(128);
    return model_->forward({.state = cache.get(),
                            .tokens = tokens,
                            .num_logits = total,
                            .tree_TT = tree_TT,
                            .num_masks = std::ssize(places) * k});
  }

  const std::unique_ptr<Transformer> model_ = masked_model();
  const TokenIds tokens_ = some_tokens(kLength);
};
INSTANTIATE_TEST_SUITE_P(, MaskTokens, testing::Bool(),
                         [](const auto& test) { return test.param ? "Kernels" : "Operators"; });

TEST_P(MaskTokens, OtherTokensAreTheBaseModels) {
  const at::Tensor adapted = logits_in_passes(*model_, tokens_, kLength);
  model_->set_adapter_enabled(false);
  const at::Tensor base = logits_in_passes(*model_, tokens_, kLength);
  model_->set_adapter_enabled(true);
  ASSERT_GT(relative(adapted, base), 0.01);  // else there would be nothing to see
  model_->set_mask_tokens(kMasks);
  const at::Tensor beside_masks = run(tokens_, {3, kLength - 1}).narrow(0, 0, kLength);
  EXPECT_LT(relative(beside_masks, base), 1e-6);
  EXPECT_LT(relative(logits_in_passes(*model_, tokens_, kLength), base), 1e-6);
  if (GetParam()) {
    EXPECT_TRUE(at::equal(beside_masks, base));
  }
}

TEST_P(MaskTokens, MasksAreWhatARowWithTheSameGateGives) {
  model_->set_mask_tokens(kMasks);
  constexpr int64_t kPlace = 9;
  const at::Tensor found = run(tokens_, {2, kPlace}).narrow(0, kLength + 3, 3);
  TokenIds row(tokens_.begin(), tokens_.begin() + kPlace + 1);
  row.insert(row.end(), kMasks.begin(), kMasks.end());
  const at::Tensor expected = gated_logits(*model_, row, 3).narrow(0, kPlace + 1, 3);
  EXPECT_LT(relative(found, expected.detach()), 1e-5);
}

TEST(MaskTokensOfAStep, AreSomeOfItsTokens) {
  const auto model = small_model();
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_state(8);
  const TokenIds tokens{1, 2};
  EXPECT_THROW(model->forward({.state = cache.get(), .tokens = tokens, .num_masks = 3}), Error);
}

}  // namespace
}  // namespace predgen
