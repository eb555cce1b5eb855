#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "model/rope.h"

namespace predgen {

/// The activation that an MLP applies to its gate before multiplying.
enum class Activation { kSilu, kGeluTanh };

/// Whether queries and keys are normed, head by head or over the width of all heads.
enum class QkNorm { kNone, kHead, kWidth };

/// A layer's RMSNorms over the hidden size, as checkpoints call them, in the order of the
/// reference's state dict; null: the layer has no norm there.
struct NormNames {
  const char *before_attention, *after_attention, *before_mlp, *after_mlp;
};

/// What a model's layers compute, apart from their sizes; by default Llama's block. Set by
/// families/. DecoderLayer supports all of it; other implementations say what they support.
struct BlockSpec {
  Activation activation = Activation::kSilu;
  bool norm_before = true;        // norms of the inputs of attention and MLP,
  bool norm_after = false;        // and of their outputs, before the residual add
  double norm_offset = 0.0;       // added to the weight of every norm
  bool norm_scales_wide = false;  // a norm's weight is applied in float32, before rounding
  QkNorm qk_norm = QkNorm::kNone;
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  double query_scalar = 0.0;     // scores are divided by its square root; 0: head size
  double attention_softcap = 0;  // scores become cap * tanh(score / cap); 0: unchanged
  double logit_softcap = 0.0;    // the same for logits
  double embedding_scale = 1.0;  // rounded to the embeddings' type
  RopeConfig rope;
  std::optional<RopeConfig> other_rope;  // of some layers
  std::vector<bool> other_rope_layers;   // per layer, whether it uses that one; empty: none do
  std::vector<int64_t> windows;          // per layer, how many positions it sees; 0 or empty: all

  NormNames norm_names() const;
  int64_t window(int64_t layer) const;
  int64_t num_ropes() const { return other_rope ? 2 : 1; }
  const RopeConfig& rope_at(int64_t index) const { return index == 0 ? rope : *other_rope; }
  /// Index of the rope that rotates a layer's heads.
  int64_t rope_of(int64_t layer) const;
  /// Radians per position of each pair of a head, float32 [num_ropes,head_dim / 2].
  at::Tensor inverse_frequencies(int64_t head_dim) const;

  /// The names of all settings that differ from Llama's.
  std::vector<std::string_view> switches() const;
  /// The first of switches() that is not in `taken`; empty if all are.
  std::string_view switch_beyond(std::initializer_list<std::string_view> taken) const;
};

/// cap * tanh(x / cap); x where cap is 0.
at::Tensor soft_cap(const at::Tensor& x, double cap);

}  // namespace predgen
