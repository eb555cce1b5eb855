#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <utility>

namespace predgen {

// Shapes: B rows, T new tokens, S cached plus new.

/// Row stride, in values, of a mask over `num_keys` keys. Attention copies a mask of any other
/// stride to this one, in every layer.
constexpr int64_t mask_row_stride(int64_t num_keys) { return (num_keys + 7) / 8 * 8; }

/// Masks of the keys that each query sees, one per window size, made once for all layers of a pass.
/// Query i of T, after `past` cached positions, sees keys 0..past+i. is_causal of
/// scaled_dot_product_attention aligns top-left, which is wrong for T < S.
class AttentionMasks {
 public:
  /// `given`: bool [..,T,S], or undefined. `positions_BS`: positions of the keys (the last T are
  /// also the queries') if they differ from their indices in the row; else undefined. `num_folded`:
  /// heads whose queries are concatenated, as further queries of the key head they share: on CUDA,
  /// no fused kernel takes both a mask and shared heads.
  /// `options`: type and device of the queries.
  AttentionMasks(const at::Tensor& given, const at::Tensor& positions_BS, int64_t num_new,
                 int64_t past, int64_t num_folded, const at::TensorOptions& options);

  /// [..,num_folded*T,S], rows mask_row_stride() apart, 0 or -infinity, added to the scores:
  /// attention would convert a bool mask to this once per layer. Undefined if is_causal (or, for a
  /// single query, no mask at all) is equivalent.
  const at::Tensor& operator()(int64_t window);

 private:
  at::Tensor make(int64_t window) const;

  const at::Tensor given_, positions_BS_;
  const int64_t num_new_, past_, num_folded_;
  const at::TensorOptions options_;
  std::map<int64_t, at::Tensor> masks_;
};

/// Of whole rows: keys and values by the place of the layer that made them, for layers that share
/// them.
using SharedRows = std::map<int64_t, std::pair<at::Tensor, at::Tensor>>;

/// What the layers of some models see of whole rows beside the hidden states.
struct SideInputs {
  at::Tensor layer_inputs_BTLP{};  // of LayerInputs; undefined: the model has none
  SharedRows shared{};             // filled by the layers, in their order
};

}  // namespace predgen
