#include "model/pass_read.h"

#include "kernels/token_kernels.h"

namespace predgen {

at::Tensor most_likely(const at::Tensor& logits_NV) {
  if (!logits_NV.is_cpu() || logits_NV.scalar_type() != at::kFloat) return logits_NV.argmax(-1);
  const at::Tensor rows = logits_NV.contiguous();
  const int64_t V = rows.size(1);
  at::Tensor best_N = at::empty({rows.size(0)}, at::kLong);
  for (int64_t i = 0; i < rows.size(0); ++i) {
    best_N.mutable_data_ptr<int64_t>()[i] =
        token_kernels().float32.argmax(rows.const_data_ptr<float>() + i * V, V);
  }
  return best_N;
}

}  // namespace predgen
