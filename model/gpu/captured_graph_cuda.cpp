#include <ATen/cuda/CUDAGraph.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "model/gpu/captured_graph.h"

namespace predgen {
namespace {

constexpr int kWarmUps = 3;  // libraries choose kernels and workspaces before the capture

void synchronize(c10::DeviceIndex device) { at::detail::getCUDAHooks().deviceSynchronize(device); }

}  // namespace

struct GraphMemory::Parts {
  explicit Parts(c10::DeviceIndex device)
      : stream(c10::cuda::getStreamFromPool(false, device)), pool(at::cuda::graph_pool_handle()) {}

  c10::cuda::CUDAStream stream;
  at::cuda::MempoolId_t pool;
};

GraphMemory::GraphMemory(at::Device device)
    : parts_(std::make_unique<const Parts>(device.index())) {}
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
  const c10::DeviceIndex device = shared.stream.device_index();
  synchronize(device);  // a capture needs a stream of its own
  {
    const c10::StreamGuard guard(shared.stream.unwrap());
    for (int i = 0; i < kWarmUps; ++i) work();
    synchronize(device);
    // What other threads do on the device meanwhile, a language model say, is their affair.
    try {
      parts_->graph.capture_begin(shared.pool, cudaStreamCaptureModeThreadLocal);
      parts_->result = work();
      parts_->graph.capture_end();
    } catch (...) {
      parts_->abandon(shared);
      throw;
    }
  }
  synchronize(device);
}
CapturedGraph::~CapturedGraph() = default;

const at::Tensor& CapturedGraph::replay() {
  parts_->graph.replay();
  return parts_->result;
}

}  // namespace predgen
