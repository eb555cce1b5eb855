#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>

#include "model/stream_priority.h"

namespace predgen {

/// Work on CUDA that is launched as one graph instead of kernel by kernel. What differs from run to
/// run, it reads from memory that never moves.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;

  /// Goes to the current stream and is not waited for. Returns what the work gave, which the next
  /// replay of a graph of the same memory may write over.
  virtual const at::Tensor& replay() = 0;
};

/// A stream and memory for the captures of a model on CUDA, whose graphs run one at a time: each
/// may write over what another one gave.
class GraphMemory {
 public:
  virtual ~GraphMemory() = default;

  /// Runs `work` some times, so that libraries choose their kernels, then captures it, after what
  /// the current stream was given before. Captures wait for each other; other threads may use the
  /// device meanwhile, but not wait for all of it. This memory outlives the graph.
  /// c10::OutOfMemoryError where the work or the graph finds none.
  virtual std::unique_ptr<CapturedGraph> capture(const std::function<at::Tensor()>& work) const = 0;
};

/// `priority`: of the graphs, whatever stream they are launched on. Null on a CPU, and where the
/// CUDA module was built without graphs.
std::unique_ptr<const GraphMemory> make_graph_memory(at::Device device, StreamPriority priority);

/// The same inside the module (model/gpu/cuda_module.h), whose programs cannot call it.
std::unique_ptr<const GraphMemory> make_cuda_graph_memory(at::Device device,
                                                          StreamPriority priority);

}  // namespace predgen
