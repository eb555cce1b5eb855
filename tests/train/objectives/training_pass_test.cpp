#include "train/objectives/training_pass.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "model/lora.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "train/objectives/consistency_objective.h"
#include "train/optim/adamw.h"
#include "train/optim/precision.h"
#include "train/train_config.h"
#include "train/trained_weights.h"

namespace predgen {
namespace {

Batch batch_of_three() { return {small_record(0), small_record(1), small_record(2)}; }

/// A deep enough model, whole or with an adapter that drops out.
class Recomputed : public testing::TestWithParam<std::pair<TrainMode, Compute>> {
 protected:
  static TrainConfig config() {
    TrainConfig config;
    config.mode = GetParam().first;
    config.lora.dropout = 0.3;
    return config;
  }

  static ModelConfig model_config() {
    ModelConfig config = tiny_config();
    config.num_layers = 4;
    return config;
  }

  /// Gradient of a batch, with so many layers recomputed; `losses`: what it found on the way.
  static at::Tensor gradient(int64_t num_recomputed, LossTerms* losses = nullptr) {
    const auto model = Transformer::initialize(model_config(), 3, at::kFloat);
    const TrainedWeights weights(*model, config());
    if (config().mode == TrainMode::kLora) {
      // With B = 0, A would get no gradient.
      const at::NoGradGuard no_grad;
      at::Generator generator = at::detail::createCPUGenerator(5);
      for (const Parameter& parameter : weights.parameters()) {
        parameter.tensor.normal_(0.0, 0.3, generator);
      }
    }
    AdamW optimizer(weights.parameters(), {});
    model->set_num_recomputed(num_recomputed);
    model->set_training(true);
    ConsistencyOptions options;
    options.stop_tokens = {39};
    ConsistencyObjective objective(options);
    const ComputeScope scope(GetParam().second, at::kCPU);
    at::manual_seed(7);
    for (int i = 0; i < 2; ++i) {  // the second pass draws after the first one
      const LossTerms found = objective.accumulate_gradients(
          *model, batch_of_three(), counts_of(objective.count(batch_of_three(), 1)), 1);
      if (losses) add(found, *losses);
    }
    return optimizer.flat_gradient();
  }
};
INSTANTIATE_TEST_SUITE_P(, Recomputed,
                         testing::Values(std::pair(TrainMode::kFull, Compute::kFloat32),
                                         std::pair(TrainMode::kLora, Compute::kFloat32),
                                         std::pair(TrainMode::kLora, Compute::kBFloat16)));

TEST_P(Recomputed, GradientsAreTheSameBits) {
  LossTerms expected_losses;
  const at::Tensor expected = gradient(0, &expected_losses);
  EXPECT_GT((expected != 0).sum().item<int64_t>(), expected.numel() / 2);
  for (const int64_t num_layers : {1, 3, 4}) {
    LossTerms losses;
    EXPECT_TRUE(gradient(num_layers, &losses).equal(expected)) << num_layers << " layers";
    for (const auto& [name, term] : expected_losses) EXPECT_EQ(losses.at(name).sum, term.sum);
  }
}

TEST(TrainingPass, AnAdapterOfTheLastLayerAlone) {
  const auto gradient = [](int64_t num_recomputed) {
    const auto model = tiny_model();
    LoraConfig lora;
    lora.target_modules = {"layers.1.self_attn.q_proj"};
    attach_lora(*model, lora, 1);
    const at::Tensor weight = named_adapter_weights(*model).begin()->second;
    for (const auto& [name, tensor] : named_adapter_weights(*model)) {
      const at::NoGradGuard no_grad;
      tensor.fill_(0.1).requires_grad_(true);
    }
    model->set_num_recomputed(num_recomputed);
    TrainingPass pass(*model, at::tensor({3, 1, 4}, at::kLong).unsqueeze(0));
    pass.hidden_BTE().square().sum().backward();
    pass.finish_backward();
    return weight.grad().clone();
  };
  EXPECT_TRUE(gradient(2).equal(gradient(0)));
}

TEST(TrainingPass, WithoutGradientsItIsThePlainPass) {
  const auto model = tiny_model();
  model->set_num_recomputed(2);
  const at::Tensor tokens = at::tensor({3, 1, 4, 1, 5}, at::kLong).unsqueeze(0);
  const NoGradScope no_grad;
  EXPECT_TRUE(TrainingPass(*model, tokens).hidden_BTE().equal(model->hidden_states(tokens)));
}

TEST(TrainingPass, DropoutDiffersByPassAndRepeatsWithTheSeed) {
  const auto model = tiny_model();
  LoraConfig lora;
  lora.dropout = 0.5;
  attach_lora(*model, lora, 1);
  model->set_training(true);
  const at::Tensor tokens = at::tensor({3, 1, 4, 1, 5}, at::kLong).unsqueeze(0);
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : named_adapter_weights(*model)) tensor.fill_(0.1);
  at::manual_seed(7);
  const at::Tensor first = TrainingPass(*model, tokens).hidden_BTE();
  const at::Tensor second = TrainingPass(*model, tokens).hidden_BTE();
  EXPECT_FALSE(first.equal(second));
  at::manual_seed(7);
  EXPECT_TRUE(TrainingPass(*model, tokens).hidden_BTE().equal(first));
}

}  // namespace
}  // namespace predgen
