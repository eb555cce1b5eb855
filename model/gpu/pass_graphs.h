#pragma once

#include <ATen/ATen.h>

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/graph_capture.h"

namespace predgen {

/// What differs in the launches of passes: those of one kind can be one graph.
struct PassKind {
  int64_t num_tokens = 0, num_logits = 0;  // filled up
  int64_t tile = 0;                        // GpuAttention::tile
  int64_t num_tiles = 0;                   // that end where a sequence does; 0: one every `tile`
  int64_t num_keys = 0;                    // the most that a token sees; 0: all that can be
  size_t weights = 0;                      // says where they lie

  auto operator<=>(const PassKind&) const = default;
};

/// Graphs of passes, each captured when it is first wanted; of those that were used least recently
/// there are none any more. Used by one thread.
class PassGraphs {
 public:
  /// A conversation's kinds, with and without an adapter.
  static constexpr size_t kMost = 48;

  explicit PassGraphs(GraphCapture capture) : capture_(std::move(capture)) {}

  /// Captures it now, unless it is there. False if there is no memory for it.
  bool prepare(const PassKind& kind, const PassWork& work);
  /// What `work` gives: by a graph, or without one where there was no memory for it.
  at::Tensor run(const PassKind& kind, const PassWork& work);

 private:
  struct Graph {
    PassKind kind;
    PassWork replay;  // null: there was no memory
  };

  const GraphCapture capture_;
  std::vector<Graph> graphs_;  // the one that was used last is the first
};

}  // namespace predgen
