#include "train/base/frozen_layers.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "model/weights/lora.h"
#include "tests/fakes/run_ranks.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "train/distributed/communicator.h"
#include "train/objectives/consistency_objective.h"
#include "train/objectives/gradients.h"
#include "train/optim/adamw.h"

namespace predgen::train {
namespace {

TEST(PinnedBytes, IsMadeOfPowersOfTwo) {
  constexpr int64_t kGrain = PinnedBytes::kGrain;
  // The last: a layer of a 7B model in bfloat16, which one block would keep as 512 MiB.
  for (const int64_t size : {int64_t{1}, kGrain - 1, kGrain, kGrain + 1, 5 * kGrain + 3, 7 * kGrain,
                             int64_t{466'092'032}}) {
    const std::vector<int64_t> sizes = PinnedBytes::block_sizes(size);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), size);
    int64_t taken = 0;
    for (const int64_t block : sizes) {
      taken += static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(block)));
    }
    EXPECT_LT(taken - size, kGrain) << size;
    EXPECT_LE(sizes.size(), 11U) << size;
  }
  EXPECT_TRUE(PinnedBytes::block_sizes(0).empty());
}

TEST(PinnedBytes, ComesBackInOneString) {
  const at::Tensor bytes_C = at::randint(0, 256, {7 * PinnedBytes::kGrain + 5}, at::kByte);
  const PinnedBytes pinned(bytes_C);
  EXPECT_EQ(pinned.size(), bytes_C.numel());
  const at::Tensor found_C = at::zeros_like(bytes_C);
  pinned.copy_to(found_C);
  EXPECT_TRUE(found_C.equal(bytes_C));
}

at::Tensor five_tokens() { return at::tensor({3, 1, 4, 1, 5}, at::kLong).unsqueeze(0); }

at::Tensor output_of(const Transformer& model) {
  const at::NoGradGuard no_grad;
  return model.hidden_states(five_tokens());
}

TEST(FrozenLayers, GivesTheModelItsWeightsLayerByLayer) {
  const at::Tensor expected = output_of(*tiny_model());
  for (const bool offload : {false, true}) {
    const auto model = tiny_model();
    SingleProcessCommunicator communicator;
    const auto layers =
        std::make_shared<FrozenLayers>(*model, BaseConfig{.offload = offload}, communicator);
    model->set_layer_store(layers);
    EXPECT_TRUE(output_of(*model).equal(expected));
    EXPECT_EQ(layers->num_fetches(), model->config().num_layers());
    for (const Linear* linear : model->linears()) EXPECT_FALSE(linear->weight.defined());
  }
}

/// The first has an MLP, the second many small matrices.
TEST(FrozenLayers, LayersMayDiffer) {
  ModelConfig config = tiny_config();
  config.layers[1].experts = {.count = 5, .chosen = 2, .width = 8};
  const auto make = [&] { return Transformer::initialize(config, 3, at::kFloat); };
  const at::Tensor expected = output_of(*make());
  const auto model = make();
  SingleProcessCommunicator communicator;
  model->set_layer_store(std::make_shared<FrozenLayers>(*model, BaseConfig{}, communicator));
  EXPECT_TRUE(output_of(*model).equal(expected));
}

TEST(FrozenLayers, ARankKeepsItsShareAlone) {
  const at::Tensor expected = output_of(*tiny_model());
  for (const int world_size : {2, 3}) {
    const auto errors = run_ranks(world_size, [&](Communicator& communicator) {
      const auto model = tiny_model();
      int64_t num_bytes = 0;
      for (const Linear* linear : model->linears()) num_bytes += linear->weight.nbytes();
      const auto layers =
          std::make_shared<FrozenLayers>(*model, BaseConfig{.shard = true}, communicator);
      model->set_layer_store(layers);
      EXPECT_TRUE(output_of(*model).equal(expected));
      EXPECT_LE(layers->kept_bytes() * world_size, num_bytes + 1000);
    });
    EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
  }
}

TEST(FrozenLayers, FewerBitsAreNearAndTheSameOnEveryNumberOfRanks) {
  const at::Tensor exact = output_of(*tiny_model());
  for (const BaseWeights kind : {BaseWeights::kInt8, BaseWeights::kNf4}) {
    std::vector<at::Tensor> outputs;
    for (const int world_size : {1, 2}) {
      const auto errors = run_ranks(world_size, [&](Communicator& communicator) {
        const auto model = tiny_model();
        model->set_layer_store(std::make_shared<FrozenLayers>(
            *model, BaseConfig{.weights = kind, .shard = world_size > 1}, communicator));
        const at::Tensor output = output_of(*model);
        if (communicator.is_main()) outputs.push_back(output);
      });
      EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
    }
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_TRUE(outputs[0].equal(outputs[1]));
    const double error = ((outputs[0] - exact).norm() / exact.norm()).item<double>();
    EXPECT_GT(error, 1e-4);
    EXPECT_LT(error, kind == BaseWeights::kInt8 ? 0.03 : 0.5);
  }
}

/// Gradient of three micro-batches, one of which teaches nothing, in one go.
at::Tensor gradient_of(Transformer& model) {
  std::vector<Parameter> parameters;
  for (const auto& [name, tensor] : named_adapter_weights(model))
    parameters.push_back({name, tensor});
  const AdamW optimizer(parameters, {});
  model.set_num_recomputed(model.config().num_layers());
  const ConsistencyObjective objective(
      {.ar_target = ArTarget::kBase, .context = NoisyContext::kNoisy, .stop_tokens = {39}});
  std::vector<PackedBatch> batches;
  for (const Batch& batch :
       {Batch{small_record(0), small_record(1)}, Batch{}, Batch{small_record(2)}}) {
    batches.push_back(objective.pack(batch, 1));
  }
  accumulate_gradients(model, batches, {{"base", 40.0}, {"consistency", 20.0}},
                       std::vector<uint64_t>(3, 0));
  return optimizer.flat_gradient();
}

std::unique_ptr<Transformer> adapted_model() {
  auto model = tiny_model();
  attach_lora(*model, {}, 1);
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(5);
  for (const auto& [name, tensor] : named_adapter_weights(*model)) {
    tensor.normal_(0.0, 0.3, generator).requires_grad_(true);
  }
  return model;
}

TEST(FrozenLayers, TrainLikeWholeOnesFetchedTwiceAStep) {
  const at::Tensor expected = gradient_of(*adapted_model());
  EXPECT_GT(expected.abs().max().item<double>(), 1e-4);
  const auto errors = run_ranks(2, [&](Communicator& communicator) {
    const auto model = adapted_model();
    const auto layers =
        std::make_shared<FrozenLayers>(*model, BaseConfig{.shard = true}, communicator);
    model->set_layer_store(layers);
    EXPECT_TRUE(gradient_of(*model).equal(expected));
    EXPECT_EQ(layers->num_fetches(), 2 * model->config().num_layers());
  });
  EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
}

}  // namespace
}  // namespace predgen::train
