#pragma once

#include <ATen/ATen.h>

namespace predgen {

/// The most likely token of each row of logits [N,V], of equals the first: int64 [N] on their
/// device. On a CPU without LibTorch's argmax: that wakes threads, which then look for more work
/// beside the next pass.
at::Tensor most_likely(const at::Tensor& logits_NV);

}  // namespace predgen
