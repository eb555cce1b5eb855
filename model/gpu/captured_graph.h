#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>

#include "model/stream_priority.h"

namespace predgen {

/// A stream and memory for the captures of a model on CUDA, whose graphs run one at a time: each
/// may write over what another one gave.
class GraphMemory {
 public:
  /// `priority`: of the graphs, whatever stream they are launched on.
  GraphMemory(at::Device device, StreamPriority priority);
  ~GraphMemory();

 private:
  friend class CapturedGraph;
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

/// Work on CUDA that is launched as one graph instead of kernel by kernel. What differs from run to
/// run, it reads from memory that never moves.
class CapturedGraph {
 public:
  /// Whether this build can capture graphs: its LibTorch is one with CUDA.
  static bool is_available();

  /// Runs `work` some times, so that libraries choose their kernels, then captures it, after what
  /// the current stream was given before. Captures wait for each other; other threads may use the
  /// device meanwhile, but not wait for all of it. Borrows the memory. c10::OutOfMemoryError where
  /// the work or the graph finds none.
  CapturedGraph(const GraphMemory& memory, const std::function<at::Tensor()>& work);
  ~CapturedGraph();

  /// Goes to the current stream and is not waited for. Returns what `work` gave, which the next
  /// replay of a graph of the same memory may write over.
  const at::Tensor& replay();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace predgen
