#pragma once

#include <ATen/ATen.h>

namespace predgen {

/// The most likely token of each row of logits [N,V], the first of equals: int64 [N] on their
/// device. On a CPU it avoids LibTorch's argmax, which wakes threads that then look for more work
/// during the next pass.
at::Tensor most_likely(const at::Tensor& logits_NV);

}  // namespace predgen
