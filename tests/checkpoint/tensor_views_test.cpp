#include "checkpoint/tensor_views.h"

#include <gtest/gtest.h>

#include "checkpoint/load_model.h"
#include "checkpoint/save_gguf.h"
#include "checkpoint/save_model.h"
#include "core/files.h"
#include "tensors/gguf_file.h"
#include "tensors/safetensors.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

const LoadOptions kExact{.device = "cpu", .dtype = "fp32"};

/// Small ones of both ways to store experts.
ModelConfig config_of(const std::string& model_type) {
  Json json{{"model_type", model_type},
            {"vocab_size", 61},
            {"hidden_size", 32},
            {"intermediate_size", 32},
            {"num_hidden_layers", 2},
            {"num_attention_heads", 4},
            {"num_key_value_heads", 2},
            {"head_dim", 8},
            {"num_experts", 5},
            {"num_experts_per_tok", 2},
            {"moe_intermediate_size", 24},
            {"norm_topk_prob", true},
            {"initializer_range", 0.3},
            {"max_position_embeddings", 128}};
  return ModelConfig::from_json(json, "here");
}

class StackedTensorsOf : public testing::TestWithParam<std::string> {
 protected:
  StackedTensorsOf() : model_(Transformer::initialize(config_of(GetParam()), 3, at::kFloat)) {}

  const std::unique_ptr<Transformer> model_;
  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, StackedTensorsOf, testing::Values("qwen3_moe", "gpt_oss"),
                         [](const auto& test) { return test.param; });

TEST_P(StackedTensorsOf, AFolderKeepsEveryBit) {
  save_model(*model_, folder_.path(), {}, "fp32");
  const auto loaded = load_model(*open_checkpoint(folder_.path()), {}, kExact);
  EXPECT_TRUE(at::equal(probe(*model_), probe(*loaded)));
  EXPECT_EQ(loaded->config().to_json(), model_->config().to_json());
  const SafetensorsFolder stored(folder_.path());
  const std::string stack = "model.layers.0.mlp.experts.gate_up_proj";
  EXPECT_EQ(stored.contains(stack), GetParam() == "gpt_oss");
}

/// What transformers has in memory, and writes if it is asked to.
TEST_P(StackedTensorsOf, AFolderMayHaveAllExpertsInOneTensor) {
  ModelConfig config = model_->config();
  for (LayerSpec& layer : config.layers) {
    if (GetParam() == "qwen3_moe") layer.experts.storage = ExpertStorage::kStacked;
  }
  const Transformer stacked(config, [weights = model_->named_weights()](const std::string& name) {
    return weights.at(name);
  });
  save_model(stacked, folder_.path(), {}, "fp32");
  EXPECT_TRUE(SafetensorsFolder(folder_.path()).contains("model.layers.1.mlp.experts.down_proj"));
  const auto loaded = load_model(*open_checkpoint(folder_.path()), {}, kExact);
  EXPECT_TRUE(at::equal(probe(*model_), probe(*loaded)));
}

TEST_P(StackedTensorsOf, AGgufFileHasAllExpertsInOneTensor) {
  const std::filesystem::path file = folder_ / "model.gguf";
  const GgufExport what{.config = model_->config(),
                        .tokenizer = nullptr,
                        .name = "small",
                        .type = written_gguf_type("F32")};
  write_gguf(
      file, what,
      [&, weights = model_->named_weights()](const std::string& name, int64_t begin, int64_t end) {
        return weights.at(name).slice(0, begin, end);
      });
  const auto loaded = load_model(*open_checkpoint(file), {}, kExact);
  EXPECT_LE((probe(*model_) - probe(*loaded)).abs().max().item<double>(), 1e-5);
  const GgufFile stored(file);
  EXPECT_EQ(stored.entry("blk.1.ffn_gate_exps.weight").shape,
            (std::vector<int64_t>{5, GetParam() == "gpt_oss" ? 32 : 24, 32}));
}

TEST_P(StackedTensorsOf, AnotherNumberOfExpertsIsNamed) {
  save_model(*model_, folder_.path(), {}, "fp32");
  Json json = read_json(folder_ / "config.json");
  json[json.contains("num_experts") ? "num_experts" : "num_local_experts"] = 6;
  write_file(folder_ / "config.json", json.dump());
  expect_user_error([&] { load_model(*open_checkpoint(folder_.path()), {}, kExact); },
                    {GetParam() == "gpt_oss" ? "gate_up_proj has shape [5, 32, 64]"
                                             : "mlp.gate.weight has shape [5, 32]"});
}

TEST(ExpertFields, ImpossibleNumbersAreRefused) {
  const auto refused = [](const char* key, const Json& value, const char* part) {
    Json json = config_of("qwen3_moe").to_json();
    json["num_hidden_layers"] = 20;
    json[key] = value;
    expect_user_error([&] { ModelConfig::from_json(json, "here"); }, {part});
  };
  refused("num_experts_per_tok", 6, "(6) must be at most");
  refused("num_experts", 0, "num_experts");
  refused("num_experts", 100'000, "at most 4096");
  refused("num_experts", 4096, "experts, at most");  // of all layers
  refused("moe_intermediate_size", -1, "moe_intermediate_size");
  refused("mlp_only_layers", "x", "list");
  refused("decoder_sparse_step", 0, "decoder_sparse_step");
}

}  // namespace
}  // namespace predgen
