#pragma once

#include <ATen/ATen.h>

#include "kernels/gpu/gpu_kernels.h"
#include "model/gpu/pass_graphs.h"
#include "model/parts/transformer_parts.h"

namespace predgen {

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
  at::Tensor logits;    // float32 [*,V]
  at::Tensor counters;  // counters_for() any of the model's products
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
