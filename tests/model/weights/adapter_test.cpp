#include "model/weights/adapter.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "checkpoint/load_model.h"
#include "checkpoint/save_model.h"
#include "core/files.h"
#include "tensors/safetensors.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace fs = std::filesystem;
namespace {

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
    expect_user_error([&] { AdapterFolder(folder_.path()).attach(*model); }, parts);
  }
  at::Tensor loaded_logits() {
    const auto model = small_model();
    AdapterFolder(folder_.path()).attach(*model);
    return probe(*model);
  }

  std::unique_ptr<Transformer> adapted_ = adapted_model();
  TemporaryFolder folder_;
};

TEST_F(AdapterTest, RoundTripKeepsEveryBit) {
  const auto model = small_model();
  ASSERT_FALSE(at::allclose(probe(*model), probe(*adapted_), 0, 1e-2)) << "the adapter must matter";
  const AdapterFolder adapter(folder_.path());
  adapter.attach(*model);
  const AdapterConfig& config = adapter.config();
  EXPECT_TRUE(at::equal(probe(*model), probe(*adapted_)));
  EXPECT_EQ(config.lora.rank, 3);
  EXPECT_EQ(config.lora.alpha, 7);
  EXPECT_EQ(config.lora.base_model, "base");
  EXPECT_EQ(config.lora.target_modules, (std::vector<std::string>{"down_proj", "q_proj"}));
}

TEST_F(AdapterTest, MaskTokensAreTheModels) {
  LoraConfig lora = small_lora();
  lora.mask_tokens = {5, 60};
  save_adapter(*adapted_, lora, folder_.path());
  const auto model = small_model();
  EXPECT_TRUE(model->mask_tokens().empty());
  AdapterFolder(folder_.path()).attach(*model);
  EXPECT_TRUE(std::ranges::equal(model->mask_tokens(), lora.mask_tokens));
  set("mask_tokens", {5, 61});
  expect_refused({"\"mask_tokens\" has 61", "61 tokens"});
  set("mask_tokens", "none");
  expect_refused({"adapter_config.json", "mask_tokens"});
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

TEST_F(AdapterTest, PatternsGiveEachLayerItsRankAndScaling) {
  const auto config = [](const Json& fields) {
    Json json{{"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 8}, {"target_modules", {"q_proj"}}};
    json.update(fields);
    return AdapterConfig::from_json(json, "test");
  };
  const std::string q0 = "model.layers.0.self_attn.q_proj", q1 = "model.layers.1.self_attn.q_proj";
  const AdapterConfig plain = config(Json::object());
  EXPECT_EQ(plain.rank(q0), 4);
  EXPECT_EQ(plain.scaling(q0), 2.0);
  const AdapterConfig ranks =
      config({{"rank_pattern", {{"0.self_attn.q_proj", 2}, {"q_pro", 16}}}});
  EXPECT_EQ(ranks.rank(q0), 2);
  EXPECT_EQ(ranks.scaling(q0), 4.0);
  EXPECT_EQ(ranks.rank(q1), 4) << "q_pro is not the end of a name";
  const AdapterConfig first =
      config({{"alpha_pattern", {{"q_proj", 1}, {"layers.*", 2}}}, {"use_rslora", true}});
  EXPECT_EQ(first.scaling(q0), 0.5) << "the first key that fits, over sqrt(r)";
  EXPECT_EQ(first.scaling("model.layers.0.mlp.up_proj"), 1.0);
  // Written again, they say the same, in the same order.
  const AdapterConfig again = AdapterConfig::from_json(first.to_json(), "again");
  EXPECT_EQ(again.scaling(q0), 0.5);
  EXPECT_EQ(first.to_json()["alpha_pattern"].dump(), R"({"q_proj":1,"layers.*":2})");
}

TEST_F(AdapterTest, LayersAndExceptionsLimitTheTargets) {
  const auto matches = [](const Json& fields, const std::string& module) {
    Json json{{"peft_type", "LORA"}, {"target_modules", {"q_proj", "model.layers.0.mlp.up_proj"}}};
    json.update(fields);
    return AdapterConfig::from_json(json, "test").matches(module);
  };
  const std::string q1 = "model.layers.1.self_attn.q_proj";
  EXPECT_TRUE(matches(Json::object(), q1));
  EXPECT_TRUE(matches({{"layers_to_transform", 1}}, q1));
  EXPECT_TRUE(matches({{"layers_to_transform", {0, 1}}, {"layers_pattern", "layers"}}, q1));
  EXPECT_TRUE(matches({{"layers_to_transform", Json::array()}}, q1))
      << "an empty list limits nothing";
  EXPECT_FALSE(matches({{"layers_to_transform", {0}}}, q1));
  EXPECT_FALSE(matches({{"layers_to_transform", 1}, {"layers_pattern", {"h", "blocks"}}}, q1));
  EXPECT_TRUE(matches({{"layers_to_transform", 1}}, "model.layers.0.mlp.up_proj")) << "a full name";
  EXPECT_FALSE(matches({{"exclude_modules", {"q_proj"}}}, q1));
  EXPECT_FALSE(matches({{"exclude_modules", R"(.*\.1\..*)"}}, q1));
  EXPECT_TRUE(matches({{"exclude_modules", "q_proj"}}, q1)) << "a pattern is of the whole name";
  EXPECT_TRUE(matches({{"target_modules", "All-Linear"}}, q1));
  for (const Json& pattern : {Json("lay(ers)?"), Json::array({""})}) {
    expect_user_error(
        [&] {
          matches({{"layers_to_transform", 1}, {"layers_pattern", pattern}}, q1);
        },
        {"layers_pattern", "not supported"});
  }
  expect_user_error(
      [&] {
        matches({{"layers_to_transform", 1}, {"target_modules", ".*q_proj"}}, q1);
      },
      {"layers_to_transform", "needs a list"});
}

TEST_F(AdapterTest, StoredTypeIsKept) {
  AdapterConfig config = small_lora();
  config.dtype = at::kBFloat16;
  save_adapter(*adapted_, config, folder_.path());
  const auto model = small_model();
  EXPECT_EQ(AdapterFolder(folder_.path()).config().dtype, at::kBFloat16);
  for (const auto& [name, tensor] : named_adapter_weights(*model)) {
    EXPECT_EQ(tensor.scalar_type(), at::kFloat) << "adapters compute in float32";
    EXPECT_TRUE(
        at::equal(tensor, named_adapter_weights(*adapted_)[name].to(at::kBFloat16).to(at::kFloat)));
  }
}

TEST_F(AdapterTest, WholeModulesReplaceTheModels) {
  TemporaryFolder base;
  save_model(*small_model(), base.path(), {}, "fp32");
  std::map<std::string, at::Tensor> weights = named_adapter_weights(*adapted_);
  const at::Tensor table = at::ones({61, 32});
  weights["base_model.model.model.embed_tokens.weight"] = table;
  write_safetensors(folder_ / "adapter_model.safetensors", weights);
  set("modules_to_save", Json::array({"embed_tokens"}));
  EXPECT_EQ(AdapterFolder(folder_.path()).embeddings().size(), 1u);
  // This model's embeddings are its head too; PEFT says whether both were trained as one.
  expect_user_error(
      [&] { load_model(*open_checkpoint(base.path()), folder_.path(), {.device = "cpu"}); },
      {"modules_to_save", "ensure_weight_tying"});
  set("ensure_weight_tying", true);
  const auto model = load_model(*open_checkpoint(base.path()), folder_.path(), {.device = "cpu"});
  EXPECT_TRUE(at::equal(model->named_weights().at("model.embed_tokens.weight"), table));
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
  refused("modules_to_save", Json::array({"lm_head"}));  // without its tensor
  refused("modules_to_save", Json::array({"norm"}));
  refused("modules_to_save", Json::array({"embed_tokens", "classifier"}));
  refused("rank_pattern", {{"q_proj", 0}});
  refused("rank_pattern", {{"q_proj", 2.5}});
  refused("rank_pattern", {{"q_proj", "4"}});
  refused("rank_pattern", Json::array({"q_proj"}));
  refused("rank_pattern", {{"(", 4}});
  refused("rank_pattern", {{"(?P<name", 4}});
  refused("alpha_pattern", {{"q_proj", nullptr}});
  refused("init_lora_weights", "pissa");
  refused("init_lora_weights", "pissa_niter_16");
  refused("init_lora_weights", "olora");
  refused("layers_to_transform", "all");
  refused("layers_pattern", "layers");
  refused("exclude_modules", 7);
  refused("exclude_modules", "(");
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
  expect_refused(
      {"adapter_model.safetensors", "adapter_model.bin is pickled", "convert_pickled.py"});
  std::filesystem::remove(folder_ / "adapter_config.json");
  expect_refused({"adapter_config.json", "no such file"});
}

}  // namespace
}  // namespace predgen
