// Passes by the kernels for GPUs, which run thread by thread on the CPU here, against LibTorch's
// operators. tests/cuda has them on a GPU.
#include "model/gpu/gpu_pass.h"

#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "model/lora.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"
#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

constexpr int64_t kVocab = 61;

ModelConfig config_of(bool after) {
  ModelConfig config = small_config();
  config.hidden_size = 96;
  config.intermediate_size = 300;  // more than a block's threads
  config.num_heads = 6;
  config.num_kv_heads = 2;
  config.head_dim = 24;
  config.windows = {0, 19};
  config.qk_norm = after ? QkNorm::kWidth : QkNorm::kHead;
  config.norm_after = config.norm_scales_wide = after;
  config.qkv_bias = config.o_bias = true;
  config.mlp_bias = after;
  config.rope.attention_factor = 1.1;
  config.tie_word_embeddings = false;
  config.initializer_range = 0.1;
  config.max_positions = 200;
  return config;
}

TokenIds some_tokens(int64_t count, uint64_t seed = 1) {
  Random random(seed, "tokens");
  TokenIds tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(random.below(static_cast<uint64_t>(kVocab))));
  }
  return tokens;
}

void randomise(Transformer& model) {
  for (auto& [name, weight] : model.named_weights()) {
    if (name.ends_with("bias")) at::Tensor(weight).copy_(normal(weight.sizes(), 5) * 0.2);
    if (name.find("norm") != std::string::npos) {
      at::Tensor(weight).copy_(1 + normal(weight.sizes(), 6) * 0.2);
    }
  }
}

enum class By { kOperators, kKernels, kKernelsDescending };

void choose(Transformer& model, By by) {
  model.set_kernels(by != By::kOperators);
  model.set_gpu_kernels(by == By::kOperators
                            ? nullptr
                            : &emulated_kernels(by == By::kKernels ? ThreadOrder::kAscending
                                                                   : ThreadOrder::kDescending));
}

/// Logits of all tokens, in passes of these widths.
at::Tensor run(Transformer& model, By by, std::span<const int64_t> widths) {
  choose(model, by);
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_cache(200);
  std::vector<at::Tensor> logits;
  uint64_t seed = 0;
  for (const int64_t width : widths) {
    const TokenIds tokens = some_tokens(width, ++seed);
    logits.push_back(model.forward({.cache = cache.get(), .tokens = tokens, .num_logits = width}));
  }
  return at::cat(logits);
}

class GpuPassOf : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Transformer> make(at::ScalarType type) const {
    auto model = Transformer::initialize(config_of(GetParam()), 1, type);
    randomise(*model);
    return model;
  }
};
INSTANTIATE_TEST_SUITE_P(NormAfter, GpuPassOf, testing::Bool());

// Filled up, tiles of several tokens, and more than one chunk and two of the kernels' chunks.
constexpr int64_t kWidths[] = {37, 1, 5, 30, 1, 64, 3};

TEST_P(GpuPassOf, Float32IsLibTorchs) {
  const auto model = make(at::kFloat);
  const at::Tensor exact = run(*model, By::kOperators, kWidths);
  const int64_t before = num_emulated_launches();
  EXPECT_LT(relative(run(*model, By::kKernels, kWidths), exact), 1e-5);
  // Embeddings, the last norm, and six a layer.
  EXPECT_EQ(num_emulated_launches() - before, 7 * (2 + 2 * 6));
}

/// The same weights in float32 say what is exact.
TEST_P(GpuPassOf, Bfloat16IsNoFartherOffThanLibTorchs) {
  const auto model = make(at::kBFloat16);
  const std::map<std::string, at::Tensor> weights = model->named_weights();
  Transformer wide(model->config(),
                   [&](const std::string& name) { return weights.at(name).to(at::kFloat); });
  const at::Tensor exact = run(wide, By::kOperators, kWidths);
  const double theirs = relative(run(*model, By::kOperators, kWidths), exact);
  EXPECT_GT(theirs, 1e-3);
  EXPECT_LT(relative(run(*model, By::kKernels, kWidths), exact), theirs);
}

/// Threads that do not wait where they must give other bits in another order.
TEST_P(GpuPassOf, TheOrderOfThreadsDoesNotMatter) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto model = make(type);
    EXPECT_TRUE(
        run(*model, By::kKernels, kWidths).equal(run(*model, By::kKernelsDescending, kWidths)));
  }
}

TEST_P(GpuPassOf, JoinedProductsAreTheSame) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto model = make(type);
    const at::Tensor separate = run(*model, By::kKernels, kWidths);
    const auto before = model->named_weights();
    model->join_products();
    const auto after = model->named_weights();
    for (const auto& [name, weight] : before) EXPECT_TRUE(weight.equal(after.at(name))) << name;
    const at::Tensor q = model->linears()[0]->weight, k = model->linears()[1]->weight;
    EXPECT_TRUE(q.is_alias_of(k));
    EXPECT_LT(relative(run(*model, By::kKernels, kWidths), separate),
              type == at::kFloat ? 1e-6 : 1e-2);
    EXPECT_LT(relative(run(*model, By::kOperators, kWidths), separate),
              type == at::kFloat ? 1e-5 : 2e-2);
  }
}

TEST_P(GpuPassOf, AdaptersAndQuantisedWeights) {
  for (const bool is_packed : {false, true}) {
    const auto model = make(at::kBFloat16);
    if (is_packed) {
      model->quantize(Quantization::kInt8);
    } else {
      model->join_products();
      LoraConfig lora;
      lora.rank = 5;
      attach_lora(*model, lora, 2);
      for (Linear* linear : model->linears()) {
        linear->lora_B.detach_().copy_(normal(linear->lora_B.sizes(), 3) * 0.3);
      }
    }
    const at::Tensor exact = run(*model, By::kOperators, kWidths);
    EXPECT_LT(relative(run(*model, By::kKernels, kWidths), exact), 0.05);
    model->set_adapter_enabled(false);
    const double apart = relative(run(*model, By::kKernels, kWidths), exact);
    EXPECT_EQ(apart > 0.2, !is_packed) << apart;
  }
}

/// Two branches after a common token; in the second layer a window hides all before them and some
/// of their own.
TEST_P(GpuPassOf, TreesSeeTheirOwnPath) {
  const auto model = make(at::kFloat);
  const TokenIds prompt = some_tokens(33), draft = some_tokens(40, 2);
  at::Tensor tree_TT = at::zeros({40, 40}, at::kBool);
  auto sees = tree_TT.accessor<bool, 2>();
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j <= i; ++j) sees[i][j] = j == 0 || j % 2 == i % 2;
  }
  const auto logits = [&](By by) {
    choose(*model, by);
    KvPool pool(model->kv_layout());
    const auto cache = pool.make_cache(200);
    model->forward({.cache = cache.get(), .tokens = prompt});
    return model->forward(
        {.cache = cache.get(), .tokens = draft, .num_logits = 40, .tree_TT = tree_TT});
  };
  EXPECT_LT(relative(logits(By::kKernels), logits(By::kOperators)), 1e-5);
}

TEST_P(GpuPassOf, SequencesShareAPass) {
  const auto model = make(at::kFloat);
  const auto logits = [&](By by) {
    choose(*model, by);
    KvPool pool(model->kv_layout());
    std::vector<std::unique_ptr<KvCache>> caches;
    std::vector<TokenIds> news;
    for (const int64_t past : {40, 3, 70}) {
      caches.push_back(pool.make_cache(200));
      const TokenIds prompt = some_tokens(past, static_cast<uint64_t>(past));
      model->forward({.cache = caches.back().get(), .tokens = prompt, .num_logits = 0});
      news.push_back(some_tokens(1 + past % 4, static_cast<uint64_t>(past) + 9));
    }
    std::vector<SequenceStep> steps;
    for (size_t i = 0; i < caches.size(); ++i) {
      steps.push_back({.cache = caches[i].get(), .tokens = news[i], .num_logits = 1});
    }
    steps[1].num_logits = 3;
    return model->forward(steps);
  };
  const at::Tensor found = logits(By::kKernels);
  EXPECT_EQ(found.size(0), 5);
  EXPECT_LT(relative(found, logits(By::kOperators)), 1e-5);
}

TEST_P(GpuPassOf, LogitsOfAPassStayWhenAnotherOneRuns) {
  const auto model = make(at::kFloat);
  choose(*model, By::kKernels);
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_cache(8);
  const TokenIds one{1}, two{2};
  at::Tensor first;
  {
    const c10::InferenceMode inference;  // and then outside of it
    first = model->forward({.cache = cache.get(), .tokens = one});
  }
  const at::Tensor kept = first.clone();
  model->forward({.cache = cache.get(), .tokens = two});
  EXPECT_TRUE(first.equal(kept));
}

/// What the kernels do not take goes to LibTorch's operators.
TEST(GpuPass, WhatItDoesNotTake) {
  const auto launches_of = [](const ModelConfig& config, int64_t num_tokens) {
    const auto model = Transformer::initialize(config, 1, at::kFloat);
    choose(*model, By::kKernels);
    KvPool pool(model->kv_layout());
    const auto cache = pool.make_cache(200);
    const TokenIds tokens = some_tokens(num_tokens);
    const int64_t before = num_emulated_launches();
    EXPECT_EQ(model->forward({.cache = cache.get(), .tokens = tokens}).size(0), 1);
    EXPECT_EQ(cache->length(), num_tokens);
    return num_emulated_launches() - before;
  };
  ModelConfig config = config_of(false);
  EXPECT_GT(launches_of(config, kMaxGpuTokens), 0);
  EXPECT_EQ(launches_of(config, kMaxGpuTokens + 1), 0);
  at::autocast::set_autocast_enabled(at::kCPU, true);  // products would be narrower than the rest
  EXPECT_EQ(launches_of(config, 3), 0);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_GT(launches_of(config, 3), 0);
  config.head_dim = 20;
  EXPECT_EQ(launches_of(config, 3), 0);
  config.head_dim = 136;
  EXPECT_EQ(launches_of(config, 3), 0);
}

}  // namespace
}  // namespace predgen
