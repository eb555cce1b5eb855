#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>

namespace predgen {

// Shapes: B rows, T new tokens, S cached plus new.

/// Values from one row of a mask over so many keys to the next one: of others, attention makes such
/// a copy in every layer.
constexpr int64_t mask_row_stride(int64_t num_keys) { return (num_keys + 7) / 8 * 8; }

/// Which keys each query sees, by window; made once for all layers of a pass. Query i of T, after
/// `past` cached positions, sees keys 0..past+i. is_causal of scaled_dot_product_attention aligns
/// top-left, which is wrong for T < S.
class AttentionMasks {
 public:
  /// `given`: bool [..,T,S], or undefined. `positions_BS`: of the keys, the last T of which are the
  /// queries' too, where they are not their places in the row; else undefined. `num_folded`: heads
  /// whose queries stand one after the other, as further queries of the key head that they share.
  /// On CUDA, no fused kernel takes a mask and shared heads.
  /// `options`: type and device of the queries.
  AttentionMasks(const at::Tensor& given, const at::Tensor& positions_BS, int64_t num_new,
                 int64_t past, int64_t num_folded, const at::TensorOptions& options);

  /// [..,num_folded*T,S], rows mask_row_stride() apart, 0 or -infinity to be added to the scores:
  /// attention makes that of a bool mask, too, but once a layer. Undefined if is_causal, or nothing
  /// at all for a single query, says the same.
  const at::Tensor& operator()(int64_t window);

 private:
  at::Tensor make(int64_t window) const;

  const at::Tensor given_, positions_BS_;
  const int64_t num_new_, past_, num_folded_;
  const at::TensorOptions options_;
  std::map<int64_t, at::Tensor> masks_;
};

}  // namespace predgen
