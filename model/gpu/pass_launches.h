#pragma once

#include <ATen/ATen.h>

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/gpu/gpu_kernels.h"
#include "model/graph_capture.h"
#include "model/parts/transformer_parts.h"

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

/// What the launches of a pass read and where they write logits: device memory that never
/// moves.
struct PassMemory {
  size_t rows_begin() const { return max_tokens * sizeof(GpuToken); }
  size_t tiles_begin() const { return rows_begin() + max_tokens * sizeof(int32_t); }
  size_t caches_begin() const { return tiles_begin() + max_tokens * sizeof(int32_t); }

  size_t max_tokens = 0;
  // uint8: GpuTokens, then int32 rows whose logits are requested, then int32 first tokens of tiles,
  // then GpuCaches [steps,layers].
  at::Tensor inputs;
  at::Tensor logits;  // float32 [*,V]
  // int32, 0 between launches: as many as any of the model's products or its attention takes.
  at::Tensor counters;
  int64_t l2_bytes = 0;  // of the device's cache; 0: launches read nothing ahead
};
static_assert(sizeof(GpuToken) % alignof(int32_t) == 0 &&
              (sizeof(GpuToken) + 2 * sizeof(int32_t)) % alignof(GpuCache) == 0);

/// Null for an undefined tensor.
inline const void* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

/// Launches a pass of this kind on the current stream. Returns logits [N,V], N padded, which the
/// next pass overwrites. Error for a launch that is rejected.
at::Tensor launch_pass(const GpuKernels& kernels, const TransformerParts& model,
                       const PassKind& kind, const PassMemory& memory);

}  // namespace predgen
