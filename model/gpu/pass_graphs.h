#pragma once

#include <ATen/ATen.h>

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/graph_capture.h"

namespace predgen {

/// What distinguishes the launches of passes: passes of one kind can share a graph.
struct PassKind {
  int64_t num_tokens = 0, num_logits = 0;  // padded
  int64_t tile = 0;                        // GpuAttention::tile
  int64_t num_tiles = 0;                   // if tiles end with sequences; 0: one every `tile`
  int64_t num_keys = 0;                    // the most that a token sees; 0: context length
  size_t weights = 0;                      // identifies their addresses

  auto operator<=>(const PassKind&) const = default;
};

/// An LRU cache of graphs of passes, each captured on first use. Used by one
/// thread.
class PassGraphs {
 public:
  /// Enough for a conversation's kinds, with and without an adapter.
  static constexpr size_t kMost = 80;

  explicit PassGraphs(GraphCapture capture) : capture_(std::move(capture)) {}

  /// Captures a graph now, unless it exists. False if there is no memory for it.
  bool prepare(const PassKind& kind, const PassWork& work);
  /// Returns what `work` gives: by a graph, or directly if there was no memory for one.
  at::Tensor run(const PassKind& kind, const PassWork& work);

 private:
  struct Graph {
    PassKind kind;
    PassWork replay;  // null: out of memory
  };

  const GraphCapture capture_;
  std::vector<Graph> graphs_;  // most recently used first
};

}  // namespace predgen
