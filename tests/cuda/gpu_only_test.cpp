// What only CUDA has: graphs, and memory that stays cached.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/InferenceMode.h>

#include <optional>

#include "model/gpu/captured_graph.h"
#include "model/transformer.h"
#include "tests/cuda/on_device.h"
#include "tests/fakes/small_models.h"

namespace predgen {
namespace {

class GpuOnly : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(, GpuOnly, testing::Values("cuda"), device_name);

TEST_P(GpuOnly, CapturesInAndOutsideOfTheInferenceModeTakeTurns) {
  const auto memory = make_graph_memory(at::Device(at::kCUDA, 0), StreamPriority::kHigh);
  ASSERT_NE(memory, nullptr);
  const at::Tensor x = at::ones({4}, device());
  for (const bool is_inference : {true, false, true, false}) {
    std::optional<c10::InferenceMode> mode;
    if (is_inference) mode.emplace();
    const auto graph = memory->capture([&] { return x * 3; });
    EXPECT_EQ(graph->replay().sum().item<float>(), 12.0f);
  }
}

TEST_P(GpuOnly, JoinedProductsLeaveNoMemoryCached) {
  ModelConfig config = small_config();
  config.hidden_size = 1024;
  config.intermediate_size = 4096;  // 16 MiB a matrix
  config.layers.resize(4, config.layers.front());
  const auto model =
      Transformer::initialize(config, 1, at::TensorOptions(at::kFloat).device(device()));
  model->join_products();
  const auto stats = c10::getDeviceAllocator(at::kCUDA)->getDeviceStats(0);
  EXPECT_LT(stats.reserved_bytes[0].current - stats.allocated_bytes[0].current, int64_t{32} << 20);
}

}  // namespace
}  // namespace predgen
