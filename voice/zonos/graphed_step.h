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
/// when first needed. A graph works on a cache of its own, into which the cache of the utterance is
/// copied when another one ran last; what it writes is copied back, so utterances may take turns.
class GraphedStep {
 public:
  /// `model` outlives this.
  explicit GraphedStep(const ZonosModel& model);
  ~GraphedStep();

  /// Captures now what utterances of up to `length` positions will need.
  void prepare(int64_t length, int64_t rows);

  /// As ZonosModel::step(); the cache has room. Float32 [9,1025] on the CPU.
  at::Tensor run(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache);

 private:
  struct Graph;
  Graph& graph_for(int64_t capacity, int64_t rows);

  const ZonosModel& model_;
  const GraphMemory memory_;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Graph>> graphs_;  // by bucket and rows
};

}  // namespace predgen
