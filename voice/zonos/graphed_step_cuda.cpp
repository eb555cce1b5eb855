#include <ATen/cuda/CUDAGraph.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "voice/zonos/graphed_step.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {
namespace {

constexpr int kWarmUps = 3;  // libraries choose kernels and workspaces before the capture

at::Tensor at_position(const ZonosCache& cache, int64_t position) {
  return cache.storage().select(4, position);
}

}  // namespace

/// One stream and one pool of memory for all captures: graphs run one at a time, and what a graph
/// returns is read before another one runs.
struct GraphedStep::Shared {
  explicit Shared(c10::DeviceIndex device)
      : stream(c10::cuda::getStreamFromPool(false, device)), pool(at::cuda::graph_pool_handle()) {}

  c10::cuda::CUDAStream stream;
  at::cuda::MempoolId_t pool;
};

/// What a graph reads and writes: its addresses are part of it, so none of these ever move.
struct GraphedStep::Graph {
  Graph(const ZonosModel& model, const Shared& shared, int64_t capacity, int64_t rows)
      : cache(model.config(), rows, at::TensorOptions(model.dtype()).device(model.device())) {
    cache.reserve(capacity);
    cache.storage().zero_();  // masked positions are multiplied by zero: they must be finite
    const at::TensorOptions on_device = at::TensorOptions().device(model.device());
    codes = at::zeros({kZonosCodebooks}, on_device.dtype(at::kLong));
    position = at::zeros({1}, on_device.dtype(at::kLong));
    scale = at::ones({}, on_device.dtype(at::kFloat));
    const auto run = [&] {
      return model.step_on_device(codes, position, scale, cache.capacity(), cache);
    };
    // A capture needs a stream of its own.
    at::detail::getCUDAHooks().deviceSynchronize(model.device().index());
    {
      const c10::StreamGuard guard(shared.stream.unwrap());
      for (int i = 0; i < kWarmUps; ++i) run();
      at::detail::getCUDAHooks().deviceSynchronize(model.device().index());
      // What other threads do on the device meanwhile, a language model say, is their affair.
      try {
        graph.capture_begin(shared.pool, cudaStreamCaptureModeThreadLocal);
        logits = run();
        graph.capture_end();
      } catch (...) {
        abandon(shared);
        throw;
      }
    }
    at::detail::getCUDAHooks().deviceSynchronize(model.device().index());
  }

  /// Ends a capture that failed, as when memory ran out: else the allocator would go on asking this
  /// graph, which is gone, where other threads' memory belongs.
  void abandon(const Shared& shared) {
    const auto succeeds = [](const auto& attempt) {
      try {
        attempt();
        return true;
      } catch (const std::exception&) {
        return false;
      }
    };
    logits.reset();
    if (succeeds([&] { graph.capture_end(); })) return;
    succeeds([&] {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(shared.stream.device_index(), shared.pool);
    });
  }

  ZonosCache cache;
  at::Tensor codes, position, scale, logits;
  at::cuda::CUDAGraph graph;
  uint64_t owner = 0;    // identity of the cache whose positions are in ours
  int64_t num_held = 0;  // how many
};

bool GraphedStep::is_available() { return true; }

GraphedStep::GraphedStep(const ZonosModel& model)
    : model_(model), shared_(std::make_unique<Shared>(model.device().index())) {}
GraphedStep::~GraphedStep() = default;

GraphedStep::Graph& GraphedStep::graph_for(int64_t capacity, int64_t rows) {
  std::unique_ptr<Graph>& graph = graphs_[{capacity, rows}];
  if (!graph) graph = std::make_unique<Graph>(model_, *shared_, capacity, rows);
  return *graph;
}

void GraphedStep::prepare(int64_t length, int64_t rows) {
  for (int64_t size = 1; size <= length; size = ZonosCache::bucket(size) + 1) {
    graph_for(ZonosCache::bucket(size), rows);
  }
}

at::Tensor GraphedStep::run(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache) {
  Graph& graph = graph_for(cache.capacity(), cache.rows());
  const int64_t position = cache.length();
  if (graph.owner != cache.identity() || graph.num_held != position) {
    graph.cache.storage().narrow(4, 0, position).copy_(cache.storage().narrow(4, 0, position));
    graph.owner = cache.identity();
  }
  graph.codes.copy_(codes_K);
  graph.position.fill_(position);
  graph.scale.fill_(cfg_scale);
  graph.graph.replay();
  at_position(cache, position).copy_(at_position(graph.cache, position));
  cache.set_length(position + 1);
  graph.num_held = position + 1;
  return graph.logits.to(at::kCPU);
}

}  // namespace predgen
