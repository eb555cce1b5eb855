// In place of captured_graph_cuda.cpp where LibTorch has no CUDA.
#include "core/error.h"
#include "model/gpu/captured_graph.h"

namespace predgen {

struct GraphMemory::Parts {};
struct CapturedGraph::Parts {};

GraphMemory::GraphMemory(at::Device, StreamPriority) {}
GraphMemory::~GraphMemory() = default;

bool CapturedGraph::is_available() { return false; }

CapturedGraph::CapturedGraph(const GraphMemory&, const std::function<at::Tensor()>&) {
  throw Error(std::string("this build has no CUDA graphs"));
}
CapturedGraph::~CapturedGraph() = default;

const at::Tensor& CapturedGraph::replay() {
  throw Error(std::string("this build has no CUDA graphs"));
}

}  // namespace predgen
