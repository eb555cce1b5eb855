#include "model/weights/lora.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "model/weights/adapter.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

const Linear& find(const Transformer& model, const std::string& end) {
  for (const Linear* linear : model.linears()) {
    if (linear->name.ends_with(end)) return *linear;
  }
  throw std::out_of_range(end);
}

TEST(Lora, TheDefaultTargetsAreAllLinearLayers) {
  const auto model = small_model();
  attach_lora(*model, {}, 3);
  for (const Linear* linear : std::as_const(*model).linears()) {
    EXPECT_TRUE(linear->lora_A.defined()) << linear->name;
    EXPECT_EQ(linear->lora_scaling, 2.0);
  }
}

/// As in PEFT, for which they are no modules.
TEST(Lora, ExpertsHaveNone) {
  ModelConfig config = small_config();
  for (LayerSpec& layer : config.layers) layer.experts = {.count = 4, .chosen = 2, .width = 16};
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  LoraConfig all;
  all.target_modules = {"q_proj", "gate_proj"};
  expect_user_error([&] { attach_lora(*model, all, 3); },
                    {"\"gate_proj\" matches no linear layer", "experts have no adapters"});
  all.target_modules = {"q_proj", "o_proj"};
  attach_lora(*model, all, 3);
  EXPECT_TRUE(find(*model, "0.self_attn.q_proj").lora_A.defined());
  EXPECT_FALSE(find(*model, "0.mlp.experts.3.gate_proj").lora_A.defined());
}

TEST(Lora, TheFirstPatternThatFitsCounts) {
  LoraConfig config;
  config.rank = 4;
  config.alpha = 8;
  config.use_rslora = true;
  config.rank_pattern = {{"0.self_attn.q_proj", 1}, {R"(.*\.(q|v)_proj)", 9}};
  config.alpha_pattern = {{"v_proj", 6}};
  const auto model = small_model();
  attach_lora(*model, config, 3);
  EXPECT_EQ(find(*model, "0.self_attn.q_proj").lora_A.sizes(), (std::vector<int64_t>{1, 32}));
  EXPECT_EQ(find(*model, "1.self_attn.q_proj").lora_A.size(0), 9);
  EXPECT_EQ(find(*model, "1.self_attn.v_proj").lora_B.sizes(), (std::vector<int64_t>{16, 9}));
  EXPECT_EQ(find(*model, "1.self_attn.k_proj").lora_A.size(0), 4);
  EXPECT_EQ(find(*model, "0.self_attn.q_proj").lora_scaling, 8.0);
  EXPECT_EQ(find(*model, "0.self_attn.v_proj").lora_scaling, 2.0);
  EXPECT_EQ(find(*model, "0.self_attn.k_proj").lora_scaling, 4.0);
}

TEST(Lora, RefusesAKeyThatCountsForNoLayer) {
  const auto refused = [](const LoraConfig& config, const std::vector<std::string>& parts) {
    const auto model = small_model();
    expect_user_error([&] { attach_lora(*model, config, 3); }, parts);
  };
  refused({.target_modules = {"q_proj"}, .base_model = "", .rank_pattern = {{"up_proj", 2}}},
          {"rank_pattern", "\"up_proj\" counts for no layer"});
  refused({.base_model = "", .rank_pattern = {{"q_proj", 2}, {"1.self_attn.q_proj", 3}}},
          {"rank_pattern", "\"1.self_attn.q_proj\" counts for no layer"});
  refused({.base_model = "", .alpha_pattern = {{"_proj", 2}}},
          {"alpha_pattern", "\"_proj\" counts for no layer"});
}

TEST(Lora, ASavedAdapterHasTheSameRanksAndScalings) {
  LoraConfig config;
  config.use_rslora = true;
  config.rank_pattern = {{"o_proj", 3}, {R"(layers\.1\.mlp\..*)", 2}};
  config.alpha_pattern = {{"down_proj", 1.5}, {"k_proj", 4}};
  const auto trained = small_model(), loaded = small_model();
  attach_lora(*trained, config, 3);
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : named_adapter_weights(*trained)) tensor.uniform_(-0.3, 0.3);
  const TemporaryFolder folder;
  save_adapter(*trained, config, folder.path());
  AdapterFolder(folder.path()).attach(*loaded);
  for (const Linear* linear : std::as_const(*trained).linears()) {
    const Linear& other = find(*loaded, linear->name);
    EXPECT_TRUE(at::equal(other.lora_A, linear->lora_A)) << linear->name;
    EXPECT_TRUE(at::equal(other.lora_B, linear->lora_B)) << linear->name;
    EXPECT_EQ(other.lora_scaling, linear->lora_scaling) << linear->name;
  }
}

}  // namespace
}  // namespace predgen
