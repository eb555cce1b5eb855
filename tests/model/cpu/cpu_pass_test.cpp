// Passes by our own kernels against LibTorch's operators. That both give what the references do is
// for transformers_parity.py, that width does not matter for width_invariance_test.cpp.
#include "model/cpu/cpu_pass.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/weights/lora.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/logits_in_passes.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

constexpr int64_t kRows = 70;  // more rows than the kernels for few of them take at a time

ModelConfig pass_config(Kind kind) {
  ModelConfig config = small_config();
  config.hidden_size = 96;
  config.intermediate_size = 160;
  make_kind(config, kind);
  set_windows(config, {0, 19});
  for (LayerSpec& layer : config.layers) layer.attention.o_bias = layer.feed_forward.bias = true;
  if (kind == Kind::kGemma) config.logit_softcap = 3.0;
  config.ropes.front().attention_factor = 1.1;
  config.tie_word_embeddings = false;
  config.initializer_range = 0.1;
  return config;
}

/// Logits of all tokens, in passes of `width`.
at::Tensor run(Transformer& model, bool by_kernels, int64_t width = kRows) {
  model.set_kernels(by_kernels);
  return logits_in_passes(model, some_tokens(kRows), width);
}

class CpuPassOf : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Transformer> make(at::ScalarType type) const {
    auto model = Transformer::initialize(pass_config(GetParam()), 1, type);
    randomise(*model);
    return model;
  }
};
INSTANTIATE_TEST_SUITE_P(Block, CpuPassOf, testing::ValuesIn(kKinds), kind_name);

TEST_P(CpuPassOf, Float32IsLibTorchs) {
  const auto model = make(at::kFloat);
  const at::Tensor exact = run(*model, false);
  EXPECT_LT(relative(run(*model, true), exact), 1e-5);
  EXPECT_LT(relative(run(*model, true, 3), exact), 1e-5);
}

/// The same weights in float32 say what is exact.
TEST_P(CpuPassOf, Bfloat16IsNoFartherOffThanLibTorchs) {
  const auto model = make(at::kBFloat16);
  const std::map<std::string, at::Tensor> weights = model->named_weights();
  Transformer wide(model->config(),
                   [&](const std::string& name) { return weights.at(name).to(at::kFloat); });
  const at::Tensor exact = run(wide, false);
  const double theirs = relative(run(*model, false), exact);
  EXPECT_GT(theirs, 1e-3);
  EXPECT_LT(relative(run(*model, true), exact), theirs);
}

TEST_P(CpuPassOf, AdaptersAreAdded) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto model = make(type);
    const at::Tensor before = run(*model, true);
    LoraConfig lora;
    lora.rank = 5;
    attach_lora(*model, lora, 2);
    for (Linear* linear : model->linears()) {
      linear->lora_B.detach_().copy_(normal(linear->lora_B.sizes(), 3) * 0.1);
    }
    const at::Tensor exact = run(*model, false);
    EXPECT_GT(relative(before, exact), 0.1);
    EXPECT_LT(relative(run(*model, true), exact), type == at::kFloat ? 1e-5 : 0.03);
    model->set_adapter_enabled(false);
    EXPECT_TRUE(at::equal(run(*model, true), before));
  }
}

TEST_P(CpuPassOf, QuantisedWeights) {
  for (const Quantization kind : {Quantization::kInt8, Quantization::kInt4}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const auto model = make(type);
      model->quantize(kind);
      EXPECT_LT(relative(run(*model, true), run(*model, false)), 0.03);
    }
  }
}

TEST_P(CpuPassOf, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = at::get_num_threads();
  const auto model = make(at::kFloat);
  at::set_num_threads(1);
  const at::Tensor alone = run(*model, true, 3);
  for (const int threads : {2, 3, 5}) {
    at::set_num_threads(threads);
    EXPECT_TRUE(at::equal(run(*model, true, 3), alone)) << threads;
  }
  at::set_num_threads(before);
}

class CpuPassOfExperts : public testing::TestWithParam<ModelConfig> {};
INSTANTIATE_TEST_SUITE_P(, CpuPassOfExperts, testing::Values(experts_config(), gemma4_config()));

TEST_P(CpuPassOfExperts, AreLibTorchsInEveryPrecision) {
  for (const Quantization kind : {Quantization::kNone, Quantization::kInt8, Quantization::kInt4}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      ModelConfig config = GetParam();
      config.initializer_range = 0.1;
      const auto model = Transformer::initialize(config, 1, type);
      randomise(*model);
      if (kind != Quantization::kNone) model->quantize(kind);
      const bool is_exact = type == at::kFloat && kind == Quantization::kNone;
      const at::Tensor exact = run(*model, false);
      // Where rounding tips the choice of an expert, a token's logits are others.
      const auto distance = [&](const at::Tensor& found) {
        return ((found - exact).norm(2, {1}) / exact.norm(2, {1})).median().item<double>();
      };
      EXPECT_LT(is_exact ? relative(run(*model, true), exact) : distance(run(*model, true)),
                is_exact ? 1e-5 : 0.05)
          << type;
    }
  }
}

/// The kernels have none, so that such a pass runs in LibTorch's operators.
TEST(CpuPass, AnAdapterOfAnExpertIsNotForgotten) {
  const auto model = Transformer::initialize(experts_config(), 1, at::kFloat);
  randomise(*model);
  const at::Tensor before = run(*model, true);
  const std::vector<Linear*> linears = model->linears();
  for (Linear* linear : linears) {
    if (linear->is_module) continue;
    linear->lora_A = normal({2, linear->weight.size(1)}, 3);
    linear->lora_B = normal({linear->weight.size(0), 2}, 4) * 0.1;
    linear->lora_scaling = 1.0;
  }
  const at::Tensor exact = run(*model, false);
  EXPECT_GT(relative(before, exact), 0.01);
  EXPECT_LT(relative(run(*model, true), exact), 1e-5);
}

/// What a model's parts may do beyond Llama's, one by one: computed, or refused by its name.
TEST(CpuPass, ComputesEverySwitchOrLeavesItToLibTorch) {
  const at::Tensor plain = run(*make_with(llama_config()), false);
  for (const auto& [name, config] : one_switch_each()) {
    const auto model = make_with(config);
    const at::Tensor exact = run(*model, false);
    if (name != "norm_scales_wide") {  // rounds elsewhere
      EXPECT_GT(relative(exact, plain), 1e-4) << name << " does nothing";
    }
    const std::string refusal = CpuPass::refusal(model->config());
    EXPECT_EQ(refusal.empty(), !is_beyond_kernels(name)) << name;
    EXPECT_TRUE(refusal.empty() || refusal.find(name) != std::string::npos) << refusal;
    EXPECT_LT(relative(run(*model, true), exact), 1e-5) << name;
  }
}

/// Weights that change between passes, as in training, are read anew.
TEST(CpuPass, SeesWeightsChange) {
  const auto model = small_model();
  const at::Tensor before = run(*model, true);
  for (Linear* linear : model->linears()) linear->weight.mul_(0.5);
  EXPECT_GT(relative(run(*model, true), before), 0.01);
  EXPECT_LT(relative(run(*model, true), run(*model, false)), 1e-5);
}

TEST(CpuPass, LogitsThatSomeoneKeepsStayAndOthersMemoryIsUsedAgain) {
  const auto model = Transformer::initialize(pass_config(Kind::kNormBefore), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_state(8);
  const auto pass = [&](TokenId token) {
    return model->forward({.state = cache.get(), .tokens = TokenSpan(&token, 1), .num_logits = 1});
  };
  const at::Tensor kept = pass(1), kept_bits = kept.clone();
  const at::Tensor view = pass(2).select(0, 0), view_bits = view.clone();
  const void* memory = pass(3).const_data_ptr();
  EXPECT_EQ(pass(4).const_data_ptr(), memory);
  EXPECT_TRUE(kept.equal(kept_bits));
  EXPECT_TRUE(view.equal(view_bits));
}

TEST(CpuPass, ATokenThatIsNone) {
  const auto model = small_model();
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_state(8);
  const TokenId beyond = 61;
  EXPECT_THROW(model->forward({.state = cache.get(), .tokens = TokenSpan(&beyond, 1)}), Error);
  EXPECT_EQ(cache->length(), 0);
}

}  // namespace
}  // namespace predgen
