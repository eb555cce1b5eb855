#include "train/base/frozen_layers.h"

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/run_ranks.h"
#include "tests/fakes/small_models.h"
#include "train/distributed/single_process_communicator.h"

namespace predgen {
namespace {

at::Tensor some_tokens() { return at::tensor({3, 1, 4, 1, 5}, at::kLong).unsqueeze(0); }

at::Tensor output_of(const Transformer& model) {
  const at::NoGradGuard no_grad;
  return model.hidden_states(some_tokens());
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
    EXPECT_EQ(layers->num_fetches(), model->config().num_layers);
    for (const Linear* linear : model->linears()) EXPECT_FALSE(linear->weight.defined());
  }
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

}  // namespace
}  // namespace predgen
