#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "model/lora.h"
#include "model/safetensors.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

at::Tensor probe(const Transformer& model) {
  const at::NoGradGuard no_grad;
  return model.logits(model.hidden_states(at::arange(20, at::kLong).view({2, 10})));
}

LoraConfig small_lora() {
  LoraConfig config;
  config.rank = 3;
  config.alpha = 7;
  config.target_modules = {"q_proj", "down_proj"};
  config.base_model = "base";
  return config;
}

/// A small model whose adapter changes the logits.
std::unique_ptr<Transformer> adapted_model() {
  auto model = small_model();
  attach_lora(*model, small_lora(), 5);
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : named_adapter_weights(*model)) {
    if (name.find("lora_B") != std::string::npos) tensor.uniform_(-0.3, 0.3);
  }
  return model;
}

class AdapterTest : public testing::Test {
 protected:
  void SetUp() override { save_adapter(*adapted_, small_lora(), folder_.path()); }

  /// Changes one field of adapter_config.json.
  void set(const char* key, const Json& value) {
    Json json = read_json(folder_ / "adapter_config.json");
    json[key] = value;
    write_file(folder_ / "adapter_config.json", json.dump());
  }
  void expect_refused(const std::vector<std::string>& parts) {
    const auto model = small_model();
    expect_user_error([&] { load_adapter(*model, folder_.path()); }, parts);
  }
  at::Tensor loaded_logits() {
    const auto model = small_model();
    load_adapter(*model, folder_.path());
    return probe(*model);
  }

  std::unique_ptr<Transformer> adapted_ = adapted_model();
  TemporaryFolder folder_;
};

TEST_F(AdapterTest, RoundTripKeepsEveryBit) {
  const auto model = small_model();
  ASSERT_FALSE(at::allclose(probe(*model), probe(*adapted_), 0, 1e-2)) << "the adapter must matter";
  const LoraConfig config = load_adapter(*model, folder_.path());
  EXPECT_TRUE(at::equal(probe(*model), probe(*adapted_)));
  EXPECT_EQ(config.rank, 3);
  EXPECT_EQ(config.alpha, 7);
  EXPECT_EQ(config.base_model, "base");
  EXPECT_EQ(config.target_modules, (std::vector<std::string>{"down_proj", "q_proj"}));
}

TEST_F(AdapterTest, FilesHavePeftsLayout) {
  const std::string text = read_file(folder_ / "adapter_config.json");
  EXPECT_TRUE(text.starts_with("{\n  \"alpha_pattern\": {},\n  \"auto_mapping\": null,\n")) << text;
  EXPECT_NE(text.find("\"lora_alpha\": 7,\n  \"lora_dropout\": 0.0,"), std::string::npos) << text;
  const SafetensorsFile file(folder_ / "adapter_model.safetensors");
  EXPECT_EQ(file.entries().size(), 8u);
  const auto& entry =
      file.entries().at("base_model.model.model.layers.1.mlp.down_proj.lora_A.weight");
  EXPECT_EQ(entry.shape, (std::vector<int64_t>{3, 48}));
  EXPECT_EQ(entry.dtype, at::kFloat);
}

TEST_F(AdapterTest, MergingKeepsTheFunction) {
  const at::Tensor before = probe(*adapted_);
  merge_lora(*adapted_);
  EXPECT_TRUE(named_adapter_weights(*adapted_).empty());
  EXPECT_LE((probe(*adapted_) - before).abs().max().item<double>(), 1e-4);
}

TEST_F(AdapterTest, ScalingCounts) {
  const at::Tensor before = probe(*adapted_);
  set("lora_alpha", 14);
  EXPECT_GT((loaded_logits() - before).abs().max().item<double>(), 1e-2);
  set("lora_alpha", 7 / std::sqrt(3.0));  // divided by sqrt(r), the same as 7 by r
  set("use_rslora", true);
  EXPECT_LE((loaded_logits() - before).abs().max().item<double>(), 1e-4);
}

TEST_F(AdapterTest, TargetsMayBeAPattern) {
  const at::Tensor before = probe(*adapted_);
  set("target_modules", R"(model\.layers\.\d+\.(self_attn\.q|mlp\.down)_proj)");
  EXPECT_TRUE(at::equal(loaded_logits(), before));
  set("target_modules", R"(layers\.\d+\.(self_attn\.q|mlp\.down)_proj)");  // whole names only
  expect_refused({"target_modules", "matches no linear layer"});
  set("target_modules", "(");
  expect_refused({"target_modules"});
  set("target_modules", "all-linear");
  expect_refused({"has no tensor"});
}

TEST_F(AdapterTest, RefusesByName) {
  const auto refused = [&](const char* key, const Json& value) {
    const std::string before = read_file(folder_ / "adapter_config.json");
    set(key, value);
    expect_refused({"adapter_config.json", key});
    write_file(folder_ / "adapter_config.json", before);
  };
  refused("peft_type", "IA3");
  refused("use_dora", true);
  refused("lora_bias", true);
  refused("bias", "all");
  refused("modules_to_save", Json::array({"lm_head"}));
  refused("rank_pattern", {{"q_proj", 4}});
  refused("alpha_pattern", {{"q_proj", 4}});
  refused("init_lora_weights", "pissa");
  refused("init_lora_weights", "pissa_niter_16");
  refused("init_lora_weights", "olora");
  refused("layers_to_transform", 1);
  refused("layers_to_transform", Json::array({0}));
  refused("exclude_modules", "q_proj");
  refused("fan_in_fan_out", true);
  refused("trainable_token_indices", Json::array({1}));
  refused("a_switch_of_the_future", true);
  refused("r", 0);
  refused("r", 2.5);
  refused("lora_dropout", 1.0);
  refused("target_modules", Json::array());
  refused("target_modules", nullptr);
  EXPECT_NO_THROW(loaded_logits());
}

TEST_F(AdapterTest, NamesTensorsThatDoNotFit) {
  set("target_modules", Json::array({"c_attn"}));
  expect_refused({"adapter_config.json", "matches no linear layer", "model.layers.0"});
  set("target_modules", Json::array({"q_proj"}));
  expect_refused({"adapter_model.safetensors", "down_proj", "no adapted layer"});
  set("target_modules", Json::array({"q_proj", "down_proj", "up_proj"}));
  expect_refused({"adapter_model.safetensors", "no tensor", "up_proj.lora_A"});
  set("target_modules", Json::array({"q_proj", "down_proj"}));
  set("r", 4);
  expect_refused({"adapter_model.safetensors", "[3, 32]", "[4, 32]"});
}

TEST_F(AdapterTest, NamesMissingFiles) {
  std::filesystem::remove(folder_ / "adapter_model.safetensors");
  expect_refused({"adapter_model.safetensors"});
  write_file(folder_ / "adapter_model.bin", "x");
  expect_refused({"adapter_model.safetensors", "convert adapter_model.bin"});
  std::filesystem::remove(folder_ / "adapter_config.json");
  expect_refused({"adapter_config.json", "no such file"});
}

}  // namespace
}  // namespace predgen
