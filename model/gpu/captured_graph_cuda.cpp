#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "core/mutex.h"
#include "model/gpu/captured_graph.h"

namespace predgen {
namespace {

constexpr int kWarmUps = 3;  // libraries choose kernels and workspaces before the capture

/// Graphs of all threads share a generator of LibTorch's without a lock.
Mutex& captures() {
  static Mutex mutex;  // guards that generator
  return mutex;
}

}  // namespace

struct GraphMemory::Parts {
  Parts(c10::DeviceIndex device, StreamPriority priority)
      : stream(c10::cuda::getStreamFromPool(priority == StreamPriority::kHigh, device)),
        pool(at::cuda::graph_pool_handle()) {
    // Held here, too: the pool of graphs that are all gone takes no new one.
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // which makes the allocator
    c10::cuda::CUDACachingAllocator::createOrIncrefPool(stream.device_index(), pool);
  }
  ~Parts() { c10::cuda::CUDACachingAllocator::releasePool(stream.device_index(), pool); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  c10::cuda::CUDAStream stream;
  at::cuda::MempoolId_t pool;
};

GraphMemory::GraphMemory(at::Device device, StreamPriority priority)
    : parts_(std::make_unique<const Parts>(device.index(), priority)) {}
GraphMemory::~GraphMemory() = default;

struct CapturedGraph::Parts {
  /// Ends a capture that failed, as when memory ran out: else the allocator would go on asking this
  /// graph, which is gone, where other threads' memory belongs.
  void abandon(const GraphMemory::Parts& memory) {
    const auto succeeds = [](const auto& attempt) {
      try {
        attempt();
        return true;
      } catch (const std::exception&) {
        return false;
      }
    };
    result.reset();
    if (succeeds([&] { graph.capture_end(); })) return;
    succeeds([&] {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(memory.stream.device_index(), memory.pool);
    });
  }

  at::cuda::CUDAGraph graph;
  at::Tensor result;
};

bool CapturedGraph::is_available() { return true; }

CapturedGraph::CapturedGraph(const GraphMemory& memory, const std::function<at::Tensor()>& work)
    : parts_(std::make_unique<Parts>()) {
  const GraphMemory::Parts& shared = *memory.parts_;
  const Lock lock(captures());
  c10::Event before(c10::DeviceType::CUDA);
  before.record(c10::cuda::getCurrentCUDAStream(shared.stream.device_index()).unwrap());
  before.block(shared.stream.unwrap());
  const c10::StreamGuard guard(shared.stream.unwrap());  // a capture needs a stream of its own
  for (int i = 0; i < kWarmUps; ++i) work();
  shared.stream.synchronize();
  // What other threads launch on the device meanwhile, a language model say, is their affair.
  try {
    {
      // Captures share tensors that the first one makes and each one writes: of the inference mode,
      // they could not be written outside of it.
      const c10::InferenceMode off(false);
      parts_->graph.capture_begin(shared.pool, cudaStreamCaptureModeThreadLocal);
    }
    parts_->result = work();
    parts_->graph.capture_end();
  } catch (const c10::AcceleratorError& error) {
    parts_->abandon(shared);
    if (error.get_error_code() != cudaErrorMemoryAllocation) throw;
    throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, error.what());  // of the graph
  } catch (...) {
    parts_->abandon(shared);
    throw;
  }
}
CapturedGraph::~CapturedGraph() {
  const Lock lock(captures());
  parts_.reset();
}

const at::Tensor& CapturedGraph::replay() {
  parts_->graph.replay();
  return parts_->result;
}

}  // namespace predgen
