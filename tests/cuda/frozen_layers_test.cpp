// Frozen layers that are fetched as they are used, on a device of their own stream: what they teach
// against the same weights whole.
#include "train/base/frozen_layers.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "model/weights/lora.h"
#include "tests/cuda/on_device.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "train/distributed/communicator.h"
#include "train/objectives/consistency_objective.h"
#include "train/objectives/gradients.h"
#include "train/optim/adamw.h"

namespace predgen {
namespace {

struct Taught {
  at::Tensor gradient, losses;
};

class FrozenLayersOnDevice : public OnDevice {
 protected:
  /// Wide enough that a GPU is still at one layer's products while the next one arrives.
  static std::unique_ptr<Transformer> model(at::Device device) {
    ModelConfig config = tiny_config();
    config.layers.resize(5, config.layers.front());
    config.hidden_size = 256;
    config.intermediate_size = 512;
    config.num_heads = 8;
    config.num_kv_heads = 4;
    config.head_dim = 32;
    config.initializer_range = 0.05;
    auto made = Transformer::initialize(config, 3, at::TensorOptions(at::kFloat).device(device));
    attach_lora(*made, {}, 1);
    const at::NoGradGuard no_grad;
    at::Generator generator = at::detail::createCPUGenerator(5);
    for (const auto& [name, tensor] : named_adapter_weights(*made)) {
      tensor.copy_(at::empty(tensor.sizes()).normal_(0.0, 0.1, generator));
      tensor.requires_grad_(true);
    }
    made->set_num_recomputed(config.num_layers());
    return made;
  }

  /// Of two micro-batches together, thrice, as slots are used again in the next step.
  static std::vector<Taught> teach(Transformer& model) {
    std::vector<train::Parameter> parameters;
    for (const auto& [name, tensor] : named_adapter_weights(model)) {
      parameters.push_back({name, tensor});
    }
    train::AdamW optimizer(parameters, {});
    const train::ConsistencyObjective objective({.ar_target = train::ArTarget::kBase,
                                                 .context = train::NoisyContext::kNoisy,
                                                 .stop_tokens = {39}});
    std::vector<Taught> steps;
    for (uint64_t step = 0; step < 3; ++step) {
      const std::vector<train::PackedBatch> batches{
          objective.pack({small_record(0), small_record(1)}, step),
          objective.pack({small_record(2)}, step)};
      optimizer.zero_gradients();
      const train::TermSums sums = train::accumulate_gradients(
          model, batches, {{"base", 40.0}, {"consistency", 20.0}}, std::vector<uint64_t>(2, 0));
      steps.push_back({optimizer.flat_gradient().cpu().clone(), train::stack(sums).cpu()});
    }
    return steps;
  }

  /// The model whole, with the weights that `kind` keeps.
  static std::unique_ptr<Transformer> whole(train::BaseWeights kind) {
    auto decoded = model(device()), made = model(device());
    train::SingleProcessCommunicator communicator;
    train::FrozenLayers layers(*decoded, {.weights = kind}, communicator);
    const std::vector<Linear*> from = decoded->linears(), to = made->linears();
    for (int64_t layer = 0; layer < made->config().num_layers(); ++layer) {
      layers.acquire(layer);
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i]->weight.defined()) to[i]->weight = from[i]->weight.clone();
      }
      layers.release(layer, -1);
    }
    return made;
  }

  /// The largest of all steps' gradients and losses, relative.
  static double difference(const std::vector<Taught>& found, const std::vector<Taught>& expected) {
    double most = 0.0;
    for (size_t i = 0; i < expected.size(); ++i) {
      for (const auto& [a, b] : {std::pair(found[i].gradient, expected[i].gradient),
                                 std::pair(found[i].losses, expected[i].losses)}) {
        EXPECT_GT(b.norm().item<double>(), 1e-4);
        most = std::max(most, ((a - b).norm() / b.norm()).item<double>());
      }
    }
    return most;
  }
};
INSTANTIATE_TEST_SUITE_P(, FrozenLayersOnDevice, devices(), device_name);

TEST_P(FrozenLayersOnDevice, TeachLikeWholeOnes) {
  const std::vector<Taught> on_cpu = teach(*model(at::kCPU));
  for (const train::BaseWeights kind :
       {train::BaseWeights::kFull, train::BaseWeights::kInt8, train::BaseWeights::kNf4}) {
    const std::vector<Taught> expected = teach(*whole(kind));
    if (kind == train::BaseWeights::kFull) {
      EXPECT_LT(difference(expected, on_cpu), 1e-3);
    } else {
      EXPECT_GT(difference(expected, on_cpu), 1e-3);  // other weights teach something else
    }
    for (const bool offload : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << "kind " << static_cast<int>(kind) << ", offload " << offload);
      const auto fetching = model(device());
      train::SingleProcessCommunicator communicator;
      const auto layers = std::make_shared<train::FrozenLayers>(
          *fetching, train::BaseConfig{.weights = kind, .offload = offload}, communicator);
      fetching->set_layer_store(layers);
      EXPECT_LT(difference(teach(*fetching), expected), 1e-5);
      EXPECT_GE(layers->num_fetches(), 3 * fetching->config().num_layers());
    }
  }
}

}  // namespace
}  // namespace predgen
