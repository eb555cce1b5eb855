#include "checkpoint/logit_check.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "checkpoint/load_model.h"
#include "checkpoint/save_model.h"
#include "model/weights/weight_files.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

ModelConfig olmo_config() {
  ModelConfig config = small_config();
  config.architecture = "Olmo2ForCausalLM";
  config.tie_word_embeddings = false;
  make_kind(config, Kind::kNormAfter);
  return config;
}

ModelConfig mistral_config() {
  ModelConfig config = small_config();
  config.architecture = "MistralForCausalLM";
  config.tie_word_embeddings = false;
  config.layers.assign(2, {.attention = {.window = 7}});
  return config;
}

ModelConfig gemma_config() {
  ModelConfig config = small_config();
  config.architecture = "Gemma3ForCausalLM";
  make_gemma(config);
  config.logit_softcap = 20.0;
  return config;
}

class LogitCheck : public testing::TestWithParam<ModelConfig (*)()> {
 protected:
  void SetUp() override {
    const at::NoGradGuard no_grad;
    auto model = Transformer::initialize(GetParam()(), 1, at::kFloat);
    save_model(*model, base_.path(), {}, "fp32");
    LoraConfig lora;
    lora.rank = 3;
    attach_lora(*model, lora, 5);
    at::Generator generator = at::detail::createCPUGenerator(3);
    for (const auto& [name, tensor] : named_adapter_weights(*model)) {
      tensor.uniform_(-0.3, 0.3, generator);
    }
    save_adapter(*model, lora, adapter_.path());
  }

  void write(const MergedWeights& merged, double factor) {
    const auto rows = [&](const std::string& name, int64_t begin, int64_t end) {
      const at::Tensor plain = merged.rows(name, begin, end);
      return (name == "model.layers.1.mlp.up_proj.weight" ? plain * factor : plain)
          .to(at::kBFloat16);
    };
    write_sharded_weights(output_.path(), weight_layout(merged.config()), at::kBFloat16, rows);
    save_model_files(output_.path(), merged.config(), open_checkpoint(base_.path()).get(), "bf16",
                     {});
  }

  /// What whole models in memory say.
  LogitDifference expected() const {
    const auto logits = [](const std::filesystem::path& model,
                           const std::filesystem::path& adapter) {
      const auto loaded =
          load_model(*open_checkpoint(model), adapter, {.device = "cpu", .dtype = "fp32"});
      const at::Tensor tokens = (at::arange(256, at::kLong) * 7919 + 11).remainder(61);
      return loaded->logits(loaded->hidden_states(tokens.view({4, 64})));
    };
    const at::NoGradGuard no_grad;
    const at::Tensor base = logits(base_.path(), adapter_.path()),
                     stored = logits(output_.path(), {});
    const at::Tensor difference = (base - stored).abs();
    return {difference.max().item<double>(), difference.mean().item<double>(),
            base.abs().max().item<double>(), 256,
            base.argmax(-1).eq(stored.argmax(-1)).sum().item<int64_t>()};
  }

  TemporaryFolder base_, adapter_, output_;
};

TEST_P(LogitCheck, LayerByLayerEqualsWholeModels) {
  const MergedWeights merged(*open_checkpoint(base_.path()), adapter_.path());
  for (const double factor : {1.0, -1.0}) {
    write(merged, factor);
    int num_pauses = 0;
    const LogitDifference found = compare_logits(
        merged, ModelWeights(*open_checkpoint(output_.path())), at::kCPU, [&] { ++num_pauses; });
    const LogitDifference wanted = expected();
    EXPECT_NEAR(found.max, wanted.max, 1e-4);
    EXPECT_NEAR(found.mean, wanted.mean, 1e-5);
    EXPECT_NEAR(found.largest_logit, wanted.largest_logit, 1e-4);
    EXPECT_EQ(found.num_positions, 256);
    EXPECT_EQ(found.num_same_top, wanted.num_same_top);
    EXPECT_GE(num_pauses, 4);
    if (factor < 0) {
      EXPECT_GT(found.max, 0.5) << "a wrong weight must be seen";
      EXPECT_LT(found.num_same_top, 256);
    } else {
      EXPECT_GT(found.num_same_top, 230);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, LogitCheck,
                         testing::Values(&small_config, &olmo_config, &mistral_config,
                                         &gemma_config));

}  // namespace
}  // namespace predgen
