// Passes by the kernels for GPUs, which run thread by thread on the CPU here, against LibTorch's
// operators. tests/cuda has them on a GPU.
#include "model/gpu/gpu_pass.h"

#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.h"
#include "model/weights/lora.h"
#include "tests/fakes/tensors.h"
#include "tests/model/gpu/emulated_kernels.h"
#include "tests/model/gpu/kernel_models.h"

namespace predgen {
namespace {

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
  const auto cache = pool.make_state(200);
  std::vector<at::Tensor> logits;
  uint64_t seed = 0;
  for (const int64_t width : widths) {
    const TokenIds tokens = kernel_tokens(width, ++seed);
    logits.push_back(model.forward({.state = cache.get(), .tokens = tokens, .num_logits = width}));
  }
  return at::cat(logits);
}

class GpuPassOf : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Transformer> make(at::ScalarType type) const {
    auto model = Transformer::initialize(config_of(GetParam()), 1, type);
    randomise(*model);
    return model;
  }
};
INSTANTIATE_TEST_SUITE_P(Block, GpuPassOf, testing::ValuesIn(kKinds), kind_name);

// Filled up, tiles of several tokens, and more than one chunk and two of the kernels' chunks.
constexpr int64_t kWidths[] = {37, 1, 5, 30, 1, 64, 3};

TEST_P(GpuPassOf, Float32IsLibTorchs) {
  const auto model = make(at::kFloat);
  const at::Tensor exact = run(*model, By::kOperators, kWidths);
  const int64_t before = num_emulated_launches();
  EXPECT_LT(relative(run(*model, By::kKernels, kWidths), exact), 1e-5);
  // Embeddings, the last norm, and five a layer.
  EXPECT_EQ(num_emulated_launches() - before, 7 * (2 + 2 * 5));
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

/// As in half of the layers of a file in Q4_K_M.
TEST_P(GpuPassOf, QueriesAndKeysAreOneProductBesideValuesOfAnotherKind) {
  const auto model = make(at::kBFloat16);
  const std::vector<Linear*> linears = model->linears();
  for (size_t v = 2; v < linears.size(); v += 7) {
    linears[v]->weight = linears[v]->weight.to(at::kFloat);
  }
  const auto count = [&](at::Tensor& logits) {
    const int64_t before = num_emulated_launches();
    logits = run(*model, By::kKernels, kWidths);
    return num_emulated_launches() - before;
  };
  at::Tensor separate, joined;
  const int64_t launches = count(separate);
  model->join_products();
  const int64_t fewer = launches - count(joined);
  EXPECT_EQ(fewer, 2 * 2 * std::ssize(kWidths));  // in both layers, with gate and up
  EXPECT_TRUE(joined.equal(separate));
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

/// Of a draft as wide as the tree, behind a prompt.
at::Tensor tree_logits(Transformer& model, By by, TokenSpan prompt, const at::Tensor& tree_TT) {
  choose(model, by);
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(200);
  model.forward({.state = cache.get(), .tokens = prompt});
  const TokenIds draft = kernel_tokens(tree_TT.size(0), 2);
  return model.forward(
      {.state = cache.get(), .tokens = draft, .num_logits = tree_TT.size(0), .tree_TT = tree_TT});
}

/// Half of them a block with keys of its own, and more than one word of a tree.
TEST_P(GpuPassOf, DraftsOfMoreThan64Tokens) {
  const auto model = make(at::kFloat);
  constexpr int64_t kWide[] = {7, 65, 128};
  const int64_t before = num_emulated_launches();
  const at::Tensor found = run(*model, By::kKernels, kWide);
  EXPECT_EQ(num_emulated_launches() - before, 3 * (2 + 2 * 5));
  EXPECT_LT(relative(found, run(*model, By::kOperators, kWide)), 1e-5);

  at::Tensor tree_TT = at::zeros({128, 128}, at::kBool);
  auto sees = tree_TT.accessor<bool, 2>();
  for (int64_t i = 0; i < 128; ++i) {
    for (int64_t j = 0; j <= i; ++j) sees[i][j] = j < 3 || j % 3 == i % 3;
  }
  const auto logits = [&](By by) { return tree_logits(*model, by, kernel_tokens(9), tree_TT); };
  EXPECT_LT(relative(logits(By::kKernels), logits(By::kOperators)), 1e-5);
}

/// A model for few positions has few splits, each of which takes several chunks here.
TEST_P(GpuPassOf, ChunksThatABlockTakesTogether) {
  ModelConfig config = config_of(GetParam());
  config.max_positions = 40;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto model = Transformer::initialize(config, 1, type);
    randomise(*model);
    const at::Tensor found = run(*model, By::kKernels, kWidths);
    EXPECT_TRUE(found.equal(run(*model, By::kKernelsDescending, kWidths)));
    EXPECT_LT(relative(found, run(*model, By::kOperators, kWidths)),
              type == at::kFloat ? 1e-5 : 2e-2);
  }
}

/// Two branches after a common token; in the second layer a window hides all before them and some
/// of their own.
TEST_P(GpuPassOf, TreesSeeTheirOwnPath) {
  const auto model = make(at::kFloat);
  at::Tensor tree_TT = at::zeros({40, 40}, at::kBool);
  auto sees = tree_TT.accessor<bool, 2>();
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j <= i; ++j) sees[i][j] = j == 0 || j % 2 == i % 2;
  }
  const auto logits = [&](By by) { return tree_logits(*model, by, kernel_tokens(33), tree_TT); };
  EXPECT_LT(relative(logits(By::kKernels), logits(By::kOperators)), 1e-5);
}

TEST_P(GpuPassOf, SequencesShareAPass) {
  const auto model = make(at::kFloat);
  const auto logits = [&](By by) {
    choose(*model, by);
    KvPool pool(model->kv_layout());
    std::vector<std::unique_ptr<SequenceState>> caches;
    std::vector<TokenIds> news;
    for (const int64_t past : {40, 3, 70}) {
      caches.push_back(pool.make_state(200));
      const TokenIds prompt = kernel_tokens(past, static_cast<uint64_t>(past));
      model->forward({.state = caches.back().get(), .tokens = prompt, .num_logits = 0});
      news.push_back(kernel_tokens(1 + past % 4, static_cast<uint64_t>(past) + 9));
    }
    std::vector<SequenceStep> steps;
    for (size_t i = 0; i < caches.size(); ++i) {
      steps.push_back({.state = caches[i].get(), .tokens = news[i], .num_logits = 1});
    }
    steps[1].num_logits = 3;
    return model->forward(steps);
  };
  const at::Tensor found = logits(By::kKernels);
  EXPECT_EQ(found.size(0), 5);
  EXPECT_LT(relative(found, logits(By::kOperators)), 1e-5);
}

/// As trajectories are made: blocks of several sequences, more tokens together than a graph takes.
/// Tiles end where a sequence does; how many sequences there are adds no launch.
TEST_P(GpuPassOf, ManySequencesShareALongPass) {
  const auto model = make(at::kFloat);
  const int64_t pasts[] = {40, 3, 70, 0, 101, 25}, widths[] = {20, 23, 33, 1, 47, 20};
  const auto logits = [&](By by, size_t num_sequences) {
    choose(*model, by);
    KvPool pool(model->kv_layout());
    std::vector<std::unique_ptr<SequenceState>> caches;
    std::vector<TokenIds> news;
    std::vector<SequenceStep> steps;
    for (size_t i = 0; i < num_sequences; ++i) {
      caches.push_back(pool.make_state(200));
      news.push_back(kernel_tokens(widths[i], i + 9));
      const TokenIds prompt = kernel_tokens(pasts[i], i);
      if (pasts[i] == 0) continue;
      model->forward({.state = caches.back().get(), .tokens = prompt, .num_logits = 0});
    }
    for (size_t i = 0; i < num_sequences; ++i) {
      const int64_t num_logits = i == 2 ? 0 : i == 4 ? 5 : widths[i];
      steps.push_back({.state = caches[i].get(), .tokens = news[i], .num_logits = num_logits});
    }
    const int64_t before = num_emulated_launches();
    const at::Tensor found = model->forward(steps);
    EXPECT_EQ(num_emulated_launches() - before, by == By::kOperators ? 0 : 2 + 2 * 5);
    // What they wrote to the caches.
    std::vector<at::Tensor> all{found};
    for (size_t i = 0; i < num_sequences; ++i) {
      const TokenIds next = kernel_tokens(1, i);
      all.push_back(model->forward({.state = caches[i].get(), .tokens = next}));
    }
    return at::cat(all);
  };
  for (const size_t num_sequences : {size_t{1}, size_t{6}}) {
    const at::Tensor found = logits(By::kKernels, num_sequences);
    EXPECT_LT(relative(found, logits(By::kOperators, num_sequences)), 1e-5);
    EXPECT_TRUE(found.equal(logits(By::kKernelsDescending, num_sequences)));
  }
}

TEST_P(GpuPassOf, LogitsOfAPassStayWhenAnotherOneRuns) {
  const auto model = make(at::kFloat);
  choose(*model, By::kKernels);
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_state(8);
  const TokenIds one{1}, two{2};
  at::Tensor first;
  {
    const c10::InferenceMode inference;  // and then outside of it
    first = model->forward({.state = cache.get(), .tokens = one});
  }
  const at::Tensor kept = first.clone();
  model->forward({.state = cache.get(), .tokens = two});
  EXPECT_TRUE(first.equal(kept));
}

/// An adapter that counts for masks alone, which see one branch each.
TEST(GpuPass, AdaptersOfMaskTokens) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto model = Transformer::initialize(config_of(Kind::kNormBefore), 1, type);
    randomise(*model);
    const auto masked = [&](By by) {
      choose(*model, by);
      KvPool pool(model->kv_layout());
      const auto cache = pool.make_state(200);
      const TokenIds draft = kernel_tokens(6, 2);
      at::Tensor tree_TT = at::ones({6, 6}, at::kBool).tril();
      tree_TT[5][4] = false;
      return model->forward({.state = cache.get(),
                             .tokens = draft,
                             .num_logits = 6,
                             .tree_TT = tree_TT,
                             .num_masks = 2});
    };
    const at::Tensor base = masked(By::kKernels);
    LoraConfig lora;
    lora.rank = 5;
    attach_lora(*model, lora, 2);
    for (Linear* linear : model->linears()) {
      linear->lora_B.detach_().copy_(normal(linear->lora_B.sizes(), 3) * 0.3);
    }
    model->set_mask_tokens({7, 8});
    const int64_t before = num_emulated_launches();
    const at::Tensor found = masked(By::kKernels);
    EXPECT_GT(num_emulated_launches(), before);
    EXPECT_LT(relative(found, masked(By::kOperators)), type == at::kFloat ? 1e-5 : 0.05);
    EXPECT_TRUE(found.narrow(0, 0, 4).equal(base.narrow(0, 0, 4)));
    EXPECT_GT(relative(found.narrow(0, 4, 2), base.narrow(0, 4, 2)), 0.1);
  }
}

/// Weights of the products to come are fetched in their order, each once, by blocks beside those
/// that compute.
TEST(GpuPass, LaunchesReadAhead) {
  constexpr int64_t kL2 = 1 << 17;
  static GpuKernels kernels;
  kernels = emulated_kernels(ThreadOrder::kAscending);
  kernels.support = [](int) {
    GpuSupport support;
    support.l2_bytes = kL2;
    return support;
  };
  constexpr int64_t widths[] = {5, 1, 33};
  const auto model = Transformer::initialize(config_of(Kind::kNormBefore), 1, at::kBFloat16);
  const at::Tensor expected = run(*model, By::kKernels, widths);
  EXPECT_TRUE(take_fetched().empty());
  model->set_gpu_kernels(&kernels);
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_state(200);
  std::vector<at::Tensor> logits;
  for (uint64_t seed = 1; const int64_t width : widths) {
    const TokenIds tokens = kernel_tokens(width, seed++);
    logits.push_back(model->forward({.state = cache.get(), .tokens = tokens, .num_logits = width}));
    const std::vector<const void*> fetched = take_fetched();
    auto launch = fetched.begin();
    const auto next_launch_fetches = [&](std::initializer_list<std::string_view> codes) {
      std::vector<const void*> places;
      for (const std::string_view part : codes) {
        for (size_t i = 0; i < part.size(); i += 32) places.push_back(part.data() + i);
      }
      ASSERT_LE(std::ssize(places), fetched.end() - launch);
      EXPECT_TRUE(std::is_permutation(places.begin(), places.end(), launch));
      launch += std::ssize(places);
    };
    const std::vector<Linear*> linears = model->linears();
    for (size_t i = 0; i < linears.size(); i += 7) {
      const auto codes = [&](size_t k) {
        const at::Tensor& weight = linears[i + k]->weight;
        return std::string_view(static_cast<const char*>(weight.const_data_ptr()), weight.nbytes());
      };
      const auto q = codes(0), o = codes(3), gate = codes(4), down = codes(6);
      const std::string_view before = gate.substr(0, kL2 / kAttentionPartsOfL2 - o.size());
      next_launch_fetches({q.substr(0, kL2 / kNormPartsOfL2)});
      next_launch_fetches({o, before});
      next_launch_fetches({gate.substr(before.size(), kL2 / kNormPartsOfL2)});
      next_launch_fetches({down.substr(0, kL2 / kGatePartsOfL2)});
    }
    EXPECT_TRUE(launch == fetched.end());
  }
  EXPECT_TRUE(at::cat(logits).equal(expected));
  ::setenv("PREDGEN_READ_AHEAD", "0", 1);
  const auto another = Transformer::initialize(config_of(Kind::kNormBefore), 1, at::kBFloat16);
  another->set_gpu_kernels(&kernels);
  const TokenIds tokens = kernel_tokens(3);
  another->forward({.state = pool.make_state(3).get(), .tokens = tokens});
  ::unsetenv("PREDGEN_READ_AHEAD");
  EXPECT_TRUE(take_fetched().empty());
}

/// What the kernels do not take goes to LibTorch's operators.
TEST(GpuPass, WhatItDoesNotTake) {
  const auto launches_of = [](const ModelConfig& config, int64_t num_tokens, int64_t others = 0,
                              const at::Tensor& tree_TT = {}) {
    const auto model = Transformer::initialize(config, 1, at::kFloat);
    choose(*model, By::kKernels);
    KvPool pool(model->kv_layout());
    const auto cache = pool.make_state(400), other = pool.make_state(400);
    const TokenIds tokens = kernel_tokens(num_tokens), more = kernel_tokens(others);
    std::vector<SequenceStep> steps{{.state = cache.get(), .tokens = tokens, .tree_TT = tree_TT}};
    if (others > 0) steps.push_back({.state = other.get(), .tokens = more, .num_logits = 0});
    const int64_t before = num_emulated_launches();
    EXPECT_EQ(model->forward(steps).size(0), 1);
    EXPECT_EQ(cache->length(), num_tokens);
    return num_emulated_launches() - before;
  };
  ModelConfig config = config_of(Kind::kNormBefore);
  EXPECT_GT(launches_of(config, kMaxGpuTokens), 0);
  EXPECT_GT(launches_of(config, kMaxGpuTokens, 1), 0);
  EXPECT_EQ(launches_of(config, 2, kMaxGpuTokens, at::eye(2, at::kLong).to(at::kBool)), 0);
  at::autocast::set_autocast_enabled(at::kCPU, true);  // products would be narrower than the rest
  EXPECT_EQ(launches_of(config, 3), 0);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_GT(launches_of(config, 3), 0);
  config.head_dim = 20;
  EXPECT_EQ(launches_of(config, 3), 0);
  EXPECT_NE(GpuPass::refusal(config).find("not of 20"), std::string::npos);
  config.head_dim = 136;
  EXPECT_EQ(launches_of(config, 3), 0);
}

/// What a block may do beyond Llama's, one by one: computed, or refused by its name.
TEST(GpuPass, ComputesEverySwitchOrLeavesItToLibTorch) {
  constexpr int64_t widths[] = {20, 1};
  for (const auto& [name, config] : one_switch_each()) {
    const auto model = make_with(config);
    const at::Tensor exact = run(*model, By::kOperators, widths);
    const int64_t before = num_emulated_launches();
    EXPECT_LT(relative(run(*model, By::kKernels, widths), exact), 1e-5) << name;
    const std::string refusal = GpuPass::refusal(model->config());
    const bool is_beyond = is_beyond_gpu_kernels(name);
    EXPECT_EQ(refusal.empty(), !is_beyond) << name;
    EXPECT_EQ(refusal.empty(), num_emulated_launches() > before) << name;
    EXPECT_TRUE(refusal.empty() || refusal.find(name) != std::string::npos) << refusal;
  }
}

}  // namespace
}  // namespace predgen
