#include "checkpoint/load_model.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "checkpoint/save_model.h"
#include "core/error.h"
#include "core/files.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

const LoadOptions kFp32{.device = "cpu", .dtype = "fp32"};

class CheckpointTest : public testing::Test {
 protected:
  /// Saves a small model and replaces its weights by what `change` makes of them.
  void save_changed(const std::function<void(std::map<std::string, at::Tensor>&)>& change) {
    const auto model = small_model();
    save_model(*model, folder_.path(), {}, "fp32");
    std::map<std::string, at::Tensor> weights = model->named_weights();
    change(weights);
    write_safetensors(folder_ / "model.safetensors", weights);
  }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_user_error([&] { load_model(*open_checkpoint(folder_.path()), {}, kFp32); }, parts);
  }

  TemporaryFolder folder_;
};

TEST_F(CheckpointTest, RoundTripKeepsEveryBit) {
  for (const bool tied : {true, false}) {
    ModelConfig config = small_config();
    config.tie_word_embeddings = tied;
    const auto model = Transformer::initialize(config, 3, at::kFloat);
    save_model(*model, folder_.path(), {}, "fp32");
    const auto loaded = load_model(*open_checkpoint(folder_.path()), {}, kFp32);
    EXPECT_TRUE(at::equal(probe(*model), probe(*loaded))) << tied;
    EXPECT_EQ(loaded->config().to_json(), config.to_json());
  }
}

TEST_F(CheckpointTest, PacksAHeadWhetherItIsTiedOrNot) {
  for (const bool tied : {true, false}) {
    ModelConfig config = small_config();
    config.tie_word_embeddings = tied;
    const auto model = Transformer::initialize(config, 3, at::kFloat);
    save_model(*model, folder_.path(), {}, "fp32");
    model->quantize(Quantization::kInt8);
    const auto loaded =
        load_model(*open_checkpoint(folder_.path()), {},
                   {.device = "cpu", .dtype = "fp32", .quantization = Quantization::kInt8});
    EXPECT_TRUE(at::equal(probe(*model), probe(*loaded))) << tied;
  }
}

TEST_F(CheckpointTest, WeightsLieAsInMemoryOfTheirOwn) {
  // In the file they lie one after the other at any multiple of four bytes.
  save_model(*small_model(), folder_.path(), {}, "fp32");
  const auto loaded = load_model(*open_checkpoint(folder_.path()), {}, kFp32);
  for (const auto& [name, tensor] : loaded->named_weights()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 64, 0u) << name;
  }
}

TEST_F(CheckpointTest, BfloatIsRoundedOnceAndNamedInTheConfig) {
  const auto model = small_model();
  save_model(*model, folder_.path(), {}, "bf16");
  EXPECT_EQ(read_json(folder_ / "config.json")["torch_dtype"], "bfloat16");
  const SafetensorsFolder stored(folder_.path());
  for (const auto& [name, weight] : model->named_weights()) {
    EXPECT_TRUE(at::equal(stored.tensor(name), weight.to(at::kBFloat16))) << name;
  }
  EXPECT_EQ(
      load_model(*open_checkpoint(folder_.path()), {}, {.device = "cpu", .dtype = "bf16"})->dtype(),
      at::kBFloat16);
}

TEST_F(CheckpointTest, LargeModelsRunOnACpuInTheBfloatThatTheyAreStoredIn) {
  constexpr int64_t kSmall = 5'000'000, kLarge = 135'000'000;
  EXPECT_EQ(cpu_dtype(at::kBFloat16, kLarge), at::kBFloat16);
  EXPECT_EQ(cpu_dtype(at::kBFloat16, kSmall), at::kFloat);
  EXPECT_EQ(cpu_dtype(at::kFloat, kLarge), at::kFloat);
  EXPECT_EQ(cpu_dtype(at::kHalf, kLarge), at::kFloat);  // bfloat16 has fewer digits
  save_model(*small_model(), folder_.path(), {}, "bf16");
  EXPECT_EQ(load_model(*open_checkpoint(folder_.path()), {}, {.device = "cpu"})->dtype(),
            at::kFloat);
}

TEST_F(CheckpointTest, CopiesEverythingButWeights) {
  const TemporaryFolder source;
  Json config = small_config().to_json();
  config.erase("torch_dtype");
  config["dtype"] = "bfloat16";
  config["eos_token_id"] = 7;
  write_file(source / "config.json", config.dump());
  for (const char* name : {"tokenizer.json", "LICENSE", "generation_config.json"}) {
    write_file(source / name, name);
  }
  make_folder(source / "additional_chat_templates");
  write_file(source / "additional_chat_templates/tool.jinja", "x");
  for (const char* name : {"model-00001-of-00002.safetensors", "pytorch_model.bin",
                           "model.safetensors.index.json", "adapter_config.json"}) {
    write_file(source / name, "must not be copied");
  }
  save_model(*small_model(), folder_.path(), open_checkpoint(source.path()).get(), "fp32");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"LICENSE", "additional_chat_templates", "config.json",
                                             "generation_config.json", "model.safetensors",
                                             "tokenizer.json"}));
  config["dtype"] = "float32";
  EXPECT_EQ(read_json(folder_ / "config.json"), config);
  EXPECT_EQ(read_file(folder_ / "tokenizer.json"), "tokenizer.json");
}

TEST_F(CheckpointTest, NamesTensorsThatDoNotFit) {
  save_changed([](auto& weights) { weights.erase("model.norm.weight"); });
  expect_refused({folder_.path().string(), "model.norm.weight", "missing"});
  save_changed([](auto& weights) { weights["model.norm.bias"] = at::ones({2}); });
  expect_refused({folder_.path().string(), "model.norm.bias", "no part"});
  save_changed([](auto& weights) { weights["model.norm.weight"] = at::ones({33}); });
  expect_refused({folder_.path().string(), "model.norm.weight", "[33]", "[32]"});
  save_changed([](auto& weights) { weights["model.norm.weight"] = at::ones({32}, at::kLong); });
  expect_refused({"model.norm.weight", "quantised"});
}

TEST_F(CheckpointTest, TiedHeadMayBeStoredOnlyAsACopy) {
  save_changed([](auto& weights) {
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone();
    weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = at::ones({4});
  });
  EXPECT_NO_THROW(load_model(*open_checkpoint(folder_.path()), {}, kFp32));
  save_changed(
      [](auto& weights) { weights["lm_head.weight"] = weights["model.embed_tokens.weight"] + 1; });
  expect_refused({"tie_word_embeddings", "lm_head.weight"});
}

TEST_F(CheckpointTest, TiedEmbeddingsMayBeStoredAsTheHead) {
  save_changed([](auto& weights) {
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"];
    weights.erase("model.embed_tokens.weight");
  });
  const auto loaded =
      load_model(*open_checkpoint(folder_.path()), {}, {.device = "cpu", .dtype = "fp32"});
  EXPECT_TRUE(at::equal(probe(*small_model()), probe(*loaded)));
}

TEST_F(CheckpointTest, PartsBesideTheTextModelAreLeftOut) {
  save_changed([](auto& weights) {
    weights["vision_tower.patch_embedding.weight"] = at::zeros({2, 3});
    weights["mtp.layers.0.input_layernorm.weight"] = at::zeros({2});
  });
  const auto loaded =
      load_model(*open_checkpoint(folder_.path()), {}, {.device = "cpu", .dtype = "fp32"});
  EXPECT_TRUE(at::equal(probe(*small_model()), probe(*loaded)));
}

/// A folder of a small Qwen3.5 with its MTP layer.
class MtpCheckpointTest : public testing::Test {
 protected:
  explicit MtpCheckpointTest(bool has_experts = false) {
    Json json{{"architectures", {"Qwen3_5ForCausalLM"}},
              {"vocab_size", 61},
              {"hidden_size", 32},
              {"intermediate_size", 48},
              {"num_hidden_layers", 2},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 2},
              {"head_dim", 8},
              {"layer_types", {"linear_attention", "full_attention"}},
              {"linear_num_key_heads", 2},
              {"linear_num_value_heads", 4},
              {"linear_key_head_dim", 8},
              {"linear_value_head_dim", 8},
              {"max_position_embeddings", 128},
              {"initializer_range", 0.3},
              {"tie_word_embeddings", true}};
    if (has_experts) {
      json["architectures"] = {"Qwen3_5MoeForCausalLM"};
      json.update({{"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 16}});
      json["shared_expert_intermediate_size"] = 8;
    }
    const ModelConfig config = ModelConfig::from_json(json, "");
    model_ = Transformer::initialize(config, 1, at::kFloat);
    layer_ = Transformer::initialize(*config.mtp(), 2, at::kFloat);
    layer_->share_tables(*model_);
    save_model(*model_, folder_.path(), {}, "fp32");
    save([](auto&) {});
  }
  void save(const std::function<void(std::map<std::string, at::Tensor>&)>& change) {
    std::map<std::string, at::Tensor> weights = model_->named_weights();
    weights.merge(layer_->named_weights());
    change(weights);
    write_safetensors(folder_ / "model.safetensors", weights);
  }
  std::unique_ptr<Transformer> load(LoadOptions options) const {
    options.device = "cpu";
    return load_model(*open_checkpoint(folder_.path()), {}, options);
  }
  static at::Tensor guesses(const Transformer& layer) {
    KvPool pool(layer.kv_layout());
    const auto state = pool.make_state(64);
    const TokenIds tokens{1, 2, 3, 4, 5, 6};
    return layer.forward(
        {.state = state.get(), .tokens = tokens, .num_logits = 6, .given_TE = normal({6, 32}, 3)});
  }

  TemporaryFolder folder_;
  std::unique_ptr<Transformer> model_, layer_;
};
class MtpExpertsTest : public MtpCheckpointTest {
 protected:
  MtpExpertsTest() : MtpCheckpointTest(/*has_experts=*/true) {}
};

TEST_F(MtpCheckpointTest, TheLayerIsLoadedIfAskedFor) {
  EXPECT_EQ(load({.dtype = "fp32"})->mtp(), nullptr);
  const auto loaded = load({.dtype = "fp32", .has_mtp = true});
  EXPECT_TRUE(at::equal(guesses(*loaded->mtp()), guesses(*layer_)));
  EXPECT_TRUE(loaded->mtp()->head().weight.is_alias_of(loaded->head().weight));
  EXPECT_TRUE(loaded->gives_hidden());
  EXPECT_LT(relative(guesses(*load({.dtype = "bf16", .has_mtp = true})->mtp()), guesses(*layer_)),
            0.1);
  const auto packed = load({.quantization = Quantization::kInt8, .has_mtp = true});
  for (const Linear* linear : packed->mtp()->linears()) EXPECT_TRUE(linear->quantized);
  EXPECT_EQ(packed->mtp()->head().quantized, packed->head().quantized);
  EXPECT_LT(relative(guesses(*packed->mtp()), guesses(*layer_)), 0.1);
  // What it takes counts.
  const int64_t model = weight_bytes(model_->config(), Quantization::kNone, 4);
  const int64_t layer = mtp_bytes(model_->config(), Quantization::kNone, 4);
  EXPECT_GT(layer, 0);
  load({.dtype = "fp32", .has_mtp = true, .most_bytes = model + layer});
  expect_user_error(
      [&] { load({.dtype = "fp32", .has_mtp = true, .most_bytes = model + layer - 1}); },
      {"GiB in memory"});
}

TEST_F(MtpExpertsTest, TheLayersExpertsMayBeStacked) {
  EXPECT_TRUE(
      at::equal(guesses(*load({.dtype = "fp32", .has_mtp = true})->mtp()), guesses(*layer_)));
  save([](auto& weights) {
    const auto take = [&](const std::string& name) {
      std::vector<at::Tensor> all;
      for (int i = 0; i < 4; ++i) {
        const auto found =
            weights.extract(fmt::format("mtp.layers.0.mlp.experts.{}.{}_proj.weight", i, name));
        all.push_back(found.mapped());
      }
      return at::stack(all);
    };
    weights["mtp.layers.0.mlp.experts.gate_up_proj"] = at::cat({take("gate"), take("up")}, 1);
    weights["mtp.layers.0.mlp.experts.down_proj"] = take("down");
  });
  EXPECT_TRUE(
      at::equal(guesses(*load({.dtype = "fp32", .has_mtp = true})->mtp()), guesses(*layer_)));
}

TEST_F(MtpCheckpointTest, HalfALayerIsAMistakeAndNoneIsNot) {
  const auto is_own = [](const auto& weight) { return weight.first.starts_with("mtp."); };
  save([&](auto& weights) { std::erase_if(weights, is_own); });
  EXPECT_TRUE(at::equal(probe(*load({.dtype = "fp32"})), probe(*model_)));
  expect_user_error([&] { load({.dtype = "fp32", .has_mtp = true}); },
                    {folder_.path().string(), "no MTP layer"});
  save([](auto& weights) { weights.erase("mtp.fc.weight"); });
  for (const bool has_mtp : {false, true}) {
    expect_user_error([&] { load({.dtype = "fp32", .has_mtp = has_mtp}); },
                      {folder_.path().string(), "mtp.fc.weight is missing"});
  }
  save([](auto& weights) { weights["mtp.norm.weight"] = at::zeros({31}); });
  expect_user_error([&] { load({.dtype = "fp32"}); }, {"mtp.norm.weight has shape [31]"});
}

/// As its configuration says.
TEST_F(MtpCheckpointTest, OtherLayersThanOneAreLeftOut) {
  for (const auto& [key, value] : {std::pair<const char*, Json>{"mtp_num_hidden_layers", 2},
                                   {"mtp_num_hidden_layers", 0},
                                   {"mtp_use_dedicated_embeddings", true}}) {
    Json json = read_json(folder_ / "config.json");
    const Json before = json;
    json[key] = value;
    write_file(folder_ / "config.json", json.dump());
    EXPECT_EQ(load({.dtype = "fp32"})->mtp(), nullptr);
    expect_user_error([&] { load({.dtype = "fp32", .has_mtp = true}); }, {"no MTP layer"});
    write_file(folder_ / "config.json", before.dump());
  }
}

TEST_F(CheckpointTest, RefusesUnknownDevicesAndTypes) {
  save_model(*small_model(), folder_.path(), {}, "fp32");
  for (const char* device : {"tpu", "cuda:x", "cuda:99"}) {
    expect_user_error(
        [&] {
          load_model(*open_checkpoint(folder_.path()), {}, {.device = device, .dtype = "auto"});
        },
        {device});
  }
  expect_user_error(
      [&] { load_model(*open_checkpoint(folder_.path()), {}, {.device = "cpu", .dtype = "int4"}); },
      {"int4", "fp32 or bf16"});
}

std::vector<std::pair<std::string, uint64_t>> qwen_7b_bytes() {
  const uint64_t E = 3584, I = 18944, V = 152064, kv = 512;
  std::vector<std::pair<std::string, uint64_t>> sizes{{"model.embed_tokens.weight", 2 * V * E}};
  for (int i = 0; i < 28; ++i) {
    const std::string prefix = fmt::format("model.layers.{}.", i);
    const auto add = [&](const char* name, uint64_t numel) {
      sizes.emplace_back(prefix + name, 2 * numel);
    };
    add("self_attn.q_proj.weight", E * E);
    add("self_attn.q_proj.bias", E);
    add("self_attn.k_proj.weight", kv * E);
    add("self_attn.k_proj.bias", kv);
    add("self_attn.v_proj.weight", kv * E);
    add("self_attn.v_proj.bias", kv);
    add("self_attn.o_proj.weight", E * E);
    for (const char* name :
         {"mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"}) {
      add(name, E * I);
    }
    add("input_layernorm.weight", E);
    add("post_attention_layernorm.weight", E);
  }
  sizes.emplace_back("model.norm.weight", 2 * E);
  sizes.emplace_back("lm_head.weight", 2 * V * E);
  return sizes;
}

TEST(ShardPlan, SplitsQwen7bLikeHuggingfaceHub) {
  EXPECT_EQ(plan_shards(qwen_7b_bytes()).index().dump(2),
            read_file("tests/model/weights/golden/qwen2.5-7b.model.safetensors.index.json"));
}

TEST(ShardPlan, LargeTensorsStandAlone) {
  const ShardPlan plan = plan_shards({{"a", 6}, {"b", 20}, {"c", 4}, {"d", 1}}, 10);
  ASSERT_EQ(plan.shards.size(), 3u);
  EXPECT_EQ(plan.shards[0].tensors, (std::vector<std::string>{"b"}));
  EXPECT_EQ(plan.shards[1].tensors, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(plan.shards[2].file, "model-00003-of-00003.safetensors");
  EXPECT_EQ(plan.total_bytes, 31u);
  EXPECT_EQ(plan_shards({{"a", 6}}, 10).shards[0].file, "model.safetensors");
}

TEST_F(CheckpointTest, ShardedWeightsReadBackAndReplaceOlderFiles) {
  const auto model = small_model();
  save_model(*model, folder_.path(), {}, "fp32");
  const auto weights = model->named_weights();
  write_sharded_weights(folder_.path(), {weights.begin(), weights.end()}, at::kFloat, 5000);
  EXPECT_FALSE(fs::exists(folder_ / "model.safetensors"));
  EXPECT_TRUE(fs::exists(folder_ / "model.safetensors.index.json"));
  EXPECT_TRUE(
      at::equal(probe(*model), probe(*load_model(*open_checkpoint(folder_.path()), {}, kFp32))));
  save_model(*model, folder_.path(), {}, "fp32");
  EXPECT_FALSE(fs::exists(folder_ / "model.safetensors.index.json"));
  EXPECT_TRUE(
      at::equal(probe(*model), probe(*load_model(*open_checkpoint(folder_.path()), {}, kFp32))));
}

}  // namespace
}  // namespace predgen
