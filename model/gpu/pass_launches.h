#pragma once

#include <ATen/ATen.h>

#include "model/gpu/gpu_kernels.h"
#include "model/gpu/pass_graphs.h"
#include "model/transformer_parts.h"

namespace predgen {

/// What the launches of a pass read and where they leave logits: memory of the device that stays
/// where it is.
struct PassMemory {
  // uint8: GpuTokens, then int32 rows whose logits are asked for, then GpuCaches [steps,layers].
  at::Tensor inputs;
  at::Tensor logits;  // float32 [kMaxGpuTokens,V]
};
constexpr size_t kRowsBegin = static_cast<size_t>(kMaxGpuTokens) * sizeof(GpuToken);
constexpr size_t kCachesBegin = kRowsBegin + static_cast<size_t>(kMaxGpuTokens) * sizeof(int32_t);
static_assert(kRowsBegin % alignof(int32_t) == 0 && kCachesBegin % alignof(GpuCache) == 0);

/// Launches a pass of this kind on the current stream: LibTorch's products, and kernels between
/// them. Logits [N,V] of N filled up, which the next pass writes over. Error for a launch that is
/// refused.
at::Tensor launch_pass(const GpuKernels& kernels, const TransformerParts& model,
                       const PassKind& kind, const PassMemory& memory);

}  // namespace predgen
