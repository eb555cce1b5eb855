// The bits of a token's logits in passes of every kind against those of passes over one token each.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/random.h"
#include "model/weights/lora.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

constexpr int64_t kTextTokens = 80, kPrefix = 21;

struct Precision {
  const char* name;
  at::ScalarType type;
  Quantization quantization = Quantization::kNone;
};

struct Shape {
  const char* name;
  ModelConfig config;
};

/// Everything that the architectures add; sizes that are no multiples of what processors take at
/// once.
ModelConfig odd_config() {
  ModelConfig config = small_config();
  config.hidden_size = 96;
  config.intermediate_size = 160;
  config.num_heads = 6;
  config.head_dim = 16;
  set_windows(config, {0, 19});
  for (LayerSpec& layer : config.layers) layer.attention.qk_norm = QkNorm::kHead;
  config.logit_softcap = 3.0;
  config.tie_word_embeddings = false;
  config.initializer_range = 0.1;
  return config;
}

/// So wide that LibTorch shares the work on a few rows among threads, in the middle of a row.
ModelConfig wide_config() {
  ModelConfig config = small_config();
  config.vocab_size = 101;
  config.hidden_size = 192;
  config.intermediate_size = 1376;
  config.layers.resize(1);
  config.num_heads = 3;
  config.num_kv_heads = 1;
  config.head_dim = 64;
  config.initializer_range = 0.05;
  return config;
}

class WidthInvariance : public testing::TestWithParam<std::tuple<Shape, Precision, int>> {
 protected:
  WidthInvariance() : num_threads_(at::get_num_threads()) {
    const auto& [shape, precision, threads] = GetParam();
    at::set_num_threads(threads);
    model_ = Transformer::initialize(shape.config, 1, precision.type);
    if (precision.quantization == Quantization::kNone) {
      LoraConfig lora;
      lora.rank = 3;
      attach_lora(*model_, lora, 2);
      for (Linear* linear : model_->linears()) {
        if (!linear->is_module) continue;  // experts have no adapters
        linear->lora_B.detach_().copy_(normal(linear->lora_B.sizes(), 3) * 0.1);
      }
    } else {
      model_->quantize(precision.quantization);
    }
    pool_.emplace(model_->kv_layout());
    Random random(1, "tokens");
    for (int64_t i = 0; i < kTextTokens; ++i)
      tokens_.push_back(static_cast<TokenId>(random.below(61)));
    plain_ = one_by_one(*cache_of(0), tokens_);
  }
  ~WidthInvariance() override { at::set_num_threads(num_threads_); }

  at::Tensor one_by_one(SequenceState& cache, TokenSpan tokens) const {
    std::vector<at::Tensor> logits;
    for (const TokenId& token : tokens) {
      logits.push_back(model_->forward({.state = &cache, .tokens = TokenSpan(&token, 1)}));
    }
    return at::cat(logits);
  }
  at::Tensor run(SequenceState& cache, TokenSpan tokens, const at::Tensor& tree_TT = {}) const {
    return model_->forward({.state = &cache,
                            .tokens = tokens,
                            .num_logits = static_cast<int64_t>(tokens.size()),
                            .tree_TT = tree_TT});
  }
  TokenSpan part(int64_t begin, int64_t count) const {
    return TokenSpan(tokens_).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  }
  /// What a cache holds after the first tokens, one pass each.
  std::unique_ptr<SequenceState> cache_of(int64_t length) {
    auto cache = pool_->make_state(128);
    for (int64_t i = 0; i < length; ++i) run(*cache, part(i, 1));
    return cache;
  }
  bool is_plain(const at::Tensor& logits_NV, int64_t begin) const {
    return at::equal(logits_NV, plain_.narrow(0, begin, logits_NV.size(0)));
  }

  std::unique_ptr<Transformer> model_;
  std::optional<KvPool> pool_;
  TokenIds tokens_;
  at::Tensor plain_;  // [kTextTokens,V]

 private:
  const int num_threads_;
};

INSTANTIATE_TEST_SUITE_P(
    , WidthInvariance,
    testing::Combine(testing::Values(Shape{"odd", odd_config()}, Shape{"wide", wide_config()},
                                     Shape{"experts", experts_config()},
                                     Shape{"gemma4", gemma4_config()}),
                     testing::Values(Precision{"fp32", at::kFloat},
                                     Precision{"bf16", at::kBFloat16},
                                     Precision{"int8", at::kBFloat16, Quantization::kInt8},
                                     Precision{"int4", at::kBFloat16, Quantization::kInt4}),
                     testing::Values(1, 2)),
    [](const auto& test) {
      return fmt::format("{}_{}_{}threads", std::get<0>(test.param).name,
                         std::get<1>(test.param).name, std::get<2>(test.param));
    });

TEST_P(WidthInvariance, PassesOfAnyWidth) {
  for (const int64_t width : {2, 5, 17, 33, 80}) {
    const auto cache = pool_->make_state(128);
    for (int64_t begin = 0; begin < kTextTokens; begin += width) {
      const at::Tensor logits = run(*cache, part(begin, std::min(width, kTextTokens - begin)));
      ASSERT_TRUE(is_plain(logits, begin)) << width << " tokens from " << begin << " on";
    }
  }
}

/// Drafts that are rejected, in part or whole, and forks of what is cached.
TEST_P(WidthInvariance, WhatWasTakenBackLeavesNoTrace) {
  const auto cache = cache_of(0);
  run(*cache, part(0, kPrefix));
  run(*cache, part(3, 9));
  cache->return_to(kPrefix + 1);
  cache->return_to(kPrefix);
  const auto fork = cache->fork();
  EXPECT_TRUE(is_plain(run(*cache, part(kPrefix, 17)), kPrefix));
  EXPECT_TRUE(is_plain(run(*fork, part(kPrefix, 2)), kPrefix));
  EXPECT_TRUE(is_plain(run(*fork, part(kPrefix + 2, 33)), kPrefix + 2));
}

TEST_P(WidthInvariance, SeveralSequencesInAPass) {
  const std::vector<int64_t> cached{0, 33, kPrefix, 5}, fresh{5, 1, 17, 2};
  std::vector<std::unique_ptr<SequenceState>> caches;
  std::vector<SequenceStep> steps;
  for (size_t i = 0; i < cached.size(); ++i) {
    caches.push_back(pool_->make_state(128));
    if (cached[i] > 0) run(*caches[i], part(0, cached[i]));
    steps.push_back(
        {.state = caches[i].get(), .tokens = part(cached[i], fresh[i]), .num_logits = fresh[i]});
  }
  const at::Tensor logits = model_->forward(steps);
  int64_t begin = 0;
  for (size_t i = 0; i < cached.size(); ++i) {
    EXPECT_TRUE(is_plain(logits.narrow(0, begin, fresh[i]), cached[i])) << "sequence " << i;
    begin += fresh[i];
  }
}

/// Every node of a tree against a plain pass over its path, and the path kept in the cache.
TEST_P(WidthInvariance, BranchesOfATree) {
  constexpr int64_t kNodes = 19;
  Random random(5, "tree");
  const at::Tensor tree_TT = at::eye(kNodes, at::kBool);
  for (int64_t i = 1; i < kNodes; ++i) {  // a parent, and all that it sees; some have none
    const auto parent = static_cast<int64_t>(random.below(static_cast<uint64_t>(i) + 1));
    if (parent < i) tree_TT[i].logical_or_(tree_TT[parent]);
  }
  const auto cache = pool_->make_state(128);
  run(*cache, part(0, kPrefix));
  const auto before = cache->fork();
  const TokenSpan nodes = part(kPrefix, kNodes);
  const at::Tensor logits = run(*cache, nodes, tree_TT);
  size_t longest = 0;
  for (int64_t i = 0; i < kNodes; ++i) {
    const at::Tensor indices = tree_TT[i].nonzero().flatten();
    const std::vector<int64_t> path(indices.const_data_ptr<int64_t>(),
                                    indices.const_data_ptr<int64_t>() + indices.numel());
    TokenIds along;
    for (const int64_t node : path) along.push_back(nodes[static_cast<size_t>(node)]);
    const auto alone = before->fork();
    ASSERT_TRUE(at::equal(one_by_one(*alone, along).select(0, indices.numel() - 1), logits[i]))
        << "node " << i;
    longest = std::max(longest, path.size());
    if (i % 6 != 5) continue;
    const auto kept = cache->fork();
    kept->keep(kPrefix, path);
    ASSERT_TRUE(at::equal(run(*kept, part(0, 5)), one_by_one(*alone, part(0, 5)))) << "node " << i;
  }
  EXPECT_GE(longest, 4u);
  EXPECT_LT(static_cast<int64_t>(longest), kNodes - 4);
}

}  // namespace
}  // namespace predgen
