#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
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

/// Graphs of all threads share a LibTorch generator without a lock.
Mutex& captures() {
  static Mutex mutex;  // guards that generator
  return mutex;
}

/// State shared by the captures of one model.
struct Pool {
  Pool(c10::DeviceIndex device, StreamPriority priority)
      : stream(c10::cuda::getStreamFromPool(priority == StreamPriority::kHigh, device)),
        id(at::cuda::graph_pool_handle()) {
    // Held here, too: a pool whose graphs are all destroyed accepts no new one.
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // creates the allocator
    c10::cuda::CUDACachingAllocator::createOrIncrefPool(stream.device_index(), id);
  }
  ~Pool() { c10::cuda::CUDACachingAllocator::releasePool(stream.device_index(), id); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  c10::cuda::CUDAStream stream;
  at::cuda::MempoolId_t id;
};

/// cuBLAS keeps workspaces by stream, and several pools may have one stream: those that are made
/// meanwhile are in the graph's memory, and nobody else's.
struct OwnWorkspaces {
  OwnWorkspaces() { at::cuda::clearCublasWorkspaces(); }
  ~OwnWorkspaces() { at::cuda::clearCublasWorkspaces(); }
  OwnWorkspaces(const OwnWorkspaces&) = delete;
  OwnWorkspaces& operator=(const OwnWorkspaces&) = delete;
};

class CudaGraph : public CapturedGraph {
 public:
  CudaGraph(const Pool& pool, const std::function<at::Tensor()>& work)
      : graph_(std::make_unique<at::cuda::CUDAGraph>()) {
    const Lock lock(captures());
    c10::Event before(c10::DeviceType::CUDA);
    before.record(c10::cuda::getCurrentCUDAStream(pool.stream.device_index()).unwrap());
    before.block(pool.stream.unwrap());
    const c10::StreamGuard guard(pool.stream.unwrap());  // a capture needs a stream of its own
    for (int i = 0; i < kWarmUps; ++i) work();
    pool.stream.synchronize();
    const OwnWorkspaces own;
    // Other threads, such as a language model's, may launch on the device meanwhile.
    try {
      {
        // Captures share tensors that the first one makes and each one writes: inference-mode
        // tensors could not be written outside that mode.
        const c10::InferenceMode off(false);
        graph_->capture_begin(pool.id, cudaStreamCaptureModeThreadLocal);
      }
      result_ = work();
      graph_->capture_end();
    } catch (const c10::AcceleratorError& error) {
      abandon(pool);
      if (error.get_error_code() != cudaErrorMemoryAllocation) throw;
      throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, error.what());  // of the graph
    } catch (...) {
      abandon(pool);
      throw;
    }
  }
  ~CudaGraph() override {
    const Lock lock(captures());
    result_.reset();
    graph_.reset();
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  const at::Tensor& replay() override {
    graph_->replay();
    return result_;
  }

 private:
  /// Ends a capture that failed, for example out of memory: else the allocator would keep asking
  /// this destroyed graph where other threads' memory belongs.
  void abandon(const Pool& pool) {
    const auto succeeds = [](const auto& attempt) {
      try {
        attempt();
        return true;
      } catch (const std::exception&) {
        return false;
      }
    };
    result_.reset();
    if (succeeds([&] { graph_->capture_end(); })) return;
    succeeds([&] {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(pool.stream.device_index(), pool.id);
    });
  }

  std::unique_ptr<at::cuda::CUDAGraph> graph_;
  at::Tensor result_;
};

class CudaGraphMemory : public GraphMemory {
 public:
  CudaGraphMemory(c10::DeviceIndex device, StreamPriority priority) : pool_(device, priority) {}

  std::unique_ptr<CapturedGraph> capture(const std::function<at::Tensor()>& work) const override {
    return std::make_unique<CudaGraph>(pool_, work);
  }

 private:
  const Pool pool_;
};

}  // namespace

std::unique_ptr<const GraphMemory> make_cuda_graph_memory(at::Device device,
                                                          StreamPriority priority) {
  return std::make_unique<const CudaGraphMemory>(device.index(), priority);
}

}  // namespace predgen
