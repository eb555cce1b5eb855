#include "train/objectives/gradients.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "model/weights/lora.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "train/objectives/consistency_objective.h"
#include "train/optim/adamw.h"
#include "train/optim/precision.h"
#include "train/train_config.h"
#include "train/trained_weights.h"

namespace predgen::train {
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
    config.layers.resize(4, config.layers.front());
    return config;
  }

  /// Gradient of two batches, one after the other or layer by layer together, with so many layers
  /// recomputed; `losses`: what it found on the way.
  static at::Tensor gradient(int64_t num_recomputed, bool together, at::Tensor* losses) {
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
    const PackedBatch packed = ConsistencyObjective(options).pack(batch_of_three(), 1);
    const std::vector<PackedBatch> batches(2, packed);
    const std::vector<uint64_t> dropout_seeds{7, 8};
    const ComputeScope scope(GetParam().second, at::kCPU);
    const size_t group_size = together ? 2 : 1;
    for (size_t i = 0; i < 2; i += group_size) {
      const auto sums =
          accumulate_gradients(*model, std::span(batches).subspan(i, group_size), counts_of(packed),
                               std::span(dropout_seeds).subspan(i, group_size));
      if (losses) *losses = losses->defined() ? *losses + stack(sums) : stack(sums);
    }
    return optimizer.flat_gradient();
  }
};
INSTANTIATE_TEST_SUITE_P(, Recomputed,
                         testing::Values(std::pair(TrainMode::kFull, Compute::kFloat32),
                                         std::pair(TrainMode::kLora, Compute::kFloat32),
                                         std::pair(TrainMode::kLora, Compute::kBFloat16)));

TEST_P(Recomputed, GradientsAreTheSameBits) {
  at::Tensor expected_losses;
  const at::Tensor expected = gradient(0, false, &expected_losses);
  EXPECT_GT((expected != 0).sum().item<int64_t>(), expected.numel() / 2);
  for (const int64_t num_layers : {1, 3, 4}) {
    for (const bool together : {false, true}) {
      at::Tensor losses;
      const at::Tensor found = gradient(num_layers, together, &losses);
      // Tied embeddings get their parts of two batches together in another order.
      const double limit = together && GetParam().first == TrainMode::kFull ? 1e-6 : 0.0;
      EXPECT_LE((found - expected).abs().max().item<double>(), limit)
          << num_layers << " layers, together: " << together;
      EXPECT_TRUE(losses.equal(expected_losses));
    }
  }
}

at::Tensor some_tokens() { return at::tensor({3, 1, 4, 1, 5}, at::kLong).unsqueeze(0); }

/// Forward through all layers.
at::Tensor output_of(TrainingPass& pass, const Transformer& model) {
  for (int64_t i = 0; i < model.config().num_layers(); ++i) pass.run_layer(i);
  return pass.finish();
}

at::Tensor output_of(const Transformer& model, uint64_t dropout_seed) {
  TrainingPass pass(model, model.read_rows(some_tokens(), {}, {}), dropout_seed);
  return output_of(pass, model);
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
    TrainingPass pass(*model, model->read_rows(some_tokens(), {}, {}), 0);
    pass.backward(2 * output_of(pass, *model).detach());
    for (int64_t i = num_recomputed; i-- > 0;) pass.backward_layer(i);
    pass.backward_embedding();
    return weight.grad().clone();
  };
  EXPECT_TRUE(gradient(2).equal(gradient(0)));
}

TEST(TrainingPass, WithoutGradientsItIsThePlainPass) {
  const auto model = tiny_model();
  model->set_num_recomputed(2);
  const NoGradScope no_grad;
  EXPECT_TRUE(output_of(*model, 0).equal(model->hidden_states(some_tokens())));
}

TEST(TrainingPass, DropoutDiffersByPassAndRepeatsWithTheSeed) {
  const auto model = tiny_model();
  LoraConfig lora;
  lora.dropout = 0.5;
  attach_lora(*model, lora, 1);
  model->set_training(true);
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : named_adapter_weights(*model)) tensor.fill_(0.1);
  const at::Tensor first = output_of(*model, 7);
  EXPECT_FALSE(first.equal(output_of(*model, 8)));
  EXPECT_TRUE(output_of(*model, 7).equal(first));
}

}  // namespace
}  // namespace predgen::train
