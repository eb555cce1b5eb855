#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>

#include "model/stream_priority.h"

namespace predgen {

/// Work on CUDA that is launched as one graph instead of kernel by kernel. Inputs that differ from
/// run to run are read from memory that never moves.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;

  /// Launches on the current stream without waiting. Returns the result of the work, which the next
  /// replay of a graph of the same memory may overwrite.
  virtual const at::Tensor& replay() = 0;
};

/// A stream and memory for the captures of a model on CUDA, whose graphs run one at a time: each
/// may overwrite another one's result. Two of these may have the same stream, but never share what
/// a graph writes, cuBLAS' workspaces included; only a GPU can show that.
class GraphMemory {
 public:
  virtual ~GraphMemory() = default;

  /// Runs `work` a few times, so that libraries choose their kernels, then captures it, after all
  /// work queued on the current stream. Captures are serialised; meanwhile other threads may use
  /// the device, but not synchronise all of it. This object must outlive the graph.
  /// c10::OutOfMemoryError if there is no memory for the work or the graph.
  virtual std::unique_ptr<CapturedGraph> capture(const std::function<at::Tensor()>& work) const = 0;
};

/// `priority`: of the graphs, whatever stream they are launched on. Null on a CPU, and if the CUDA
/// module was built without graphs.
std::unique_ptr<const GraphMemory> make_graph_memory(at::Device device, StreamPriority priority);

/// The same inside the module (model/gpu/cuda_module.h), whose programs cannot call it.
std::unique_ptr<const GraphMemory> make_cuda_graph_memory(at::Device device,
                                                          StreamPriority priority);

}  // namespace predgen
