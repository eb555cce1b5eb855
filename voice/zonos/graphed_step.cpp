#include "voice/zonos/graphed_step.h"

#include <ATen/core/grad_mode.h>

#include "core/error.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {
namespace {

at::Tensor at_position(const ZonosCache& cache, int64_t position) {
  return cache.storage().select(4, position);
}

}  // namespace

/// What a graph reads and writes: addresses are baked into it, so none of these ever move.
struct GraphedStep::Graph {
  Graph(const ZonosModel& model, const GraphMemory& memory, int64_t capacity, int64_t rows)
      : cache(model.config(), rows, at::TensorOptions(model.dtype()).device(model.device())) {
    cache.reserve(capacity);
    cache.storage().zero_();  // masked positions are multiplied by zero: they must be finite
    const at::TensorOptions on_device = at::TensorOptions().device(model.device());
    codes = at::zeros({kZonosCodebooks}, on_device.dtype(at::kLong));
    position = at::zeros({1}, on_device.dtype(at::kLong));
    scale = at::ones({}, on_device.dtype(at::kFloat));
    graph = memory.capture(
        [&] { return model.step_on_device(codes, position, scale, cache.capacity(), cache); });
  }

  ZonosCache cache;
  at::Tensor codes, position, scale;
  std::unique_ptr<CapturedGraph> graph;
  uint64_t owner = 0;    // identity of the cache whose positions are in ours
  int64_t num_held = 0;  // number of positions
};

GraphedStep::GraphedStep(const ZonosModel& model, std::unique_ptr<const GraphMemory> memory)
    : model_(model), memory_(std::move(memory)) {}
GraphedStep::~GraphedStep() = default;

std::unique_ptr<GraphedStep> GraphedStep::make(const ZonosModel& model) {
  auto memory = make_graph_memory(model.device(), StreamPriority::kLow);
  if (!memory) return nullptr;
  return std::unique_ptr<GraphedStep>(new GraphedStep(model, std::move(memory)));
}

GraphedStep::Graph& GraphedStep::graph_for(int64_t capacity, int64_t rows) {
  std::unique_ptr<Graph>& graph = graphs_[{capacity, rows}];
  if (!graph) graph = std::make_unique<Graph>(model_, *memory_, capacity, rows);
  return *graph;
}

void GraphedStep::prepare(int64_t length, double cfg_scale) {
  const at::NoGradGuard no_grad;
  const int64_t rows = ZonosCache::rows_for(cfg_scale);
  for (int64_t size = 1; size <= length; size = ZonosCache::bucket(size) + 1) {
    graph_for(ZonosCache::bucket(size), rows);
  }
}

at::Tensor GraphedStep::run(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache) {
  const at::NoGradGuard no_grad;
  const int64_t position = cache.length();
  PREDGEN_CHECK(position > 0, "a step before the prefix");
  cache.reserve(position + 1);
  Graph& graph = graph_for(cache.capacity(), cache.rows());
  if (graph.owner != cache.identity() || graph.num_held != position) {
    graph.cache.storage().narrow(4, 0, position).copy_(cache.storage().narrow(4, 0, position));
    graph.owner = cache.identity();
  }
  graph.codes.copy_(codes_K);
  graph.position.fill_(position);
  graph.scale.fill_(cfg_scale);
  const at::Tensor& logits = graph.graph->replay();
  at_position(cache, position).copy_(at_position(graph.cache, position));
  cache.set_length(position + 1);
  graph.num_held = position + 1;
  return logits.to(at::kCPU);
}

}  // namespace predgen
