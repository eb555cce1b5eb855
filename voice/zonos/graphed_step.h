#pragma once

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <utility>

#include "model/gpu/captured_graph.h"
#include "voice/zonos/zonos_cache.h"

namespace predgen {

class ZonosModel;

/// Decoding steps of a model on CUDA as graphs, one for each bucket and number of rows, captured
/// when first needed. A graph works on a cache of its own, into which the utterance's cache is
/// copied if another one ran last; its writes are copied back, so utterances may alternate. Used by
/// one thread at a time.
class GraphedStep {
 public:
  /// Null without graphs: on a CPU, or if this build has none. `model` must outlive it.
  static std::unique_ptr<GraphedStep> make(const ZonosModel& model);
  ~GraphedStep();

  /// Captures the steps of utterances of up to `length` positions now instead of on first use.
  void prepare(int64_t length, double cfg_scale);

  /// As ZonosModel::step(), in one launch.
  at::Tensor run(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache);

 private:
  struct Graph;
  GraphedStep(const ZonosModel& model, std::unique_ptr<const GraphMemory> memory);
  Graph& graph_for(int64_t capacity, int64_t rows);

  const ZonosModel& model_;
  const std::unique_ptr<const GraphMemory> memory_;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Graph>> graphs_;  // by bucket and rows
};

}  // namespace predgen
