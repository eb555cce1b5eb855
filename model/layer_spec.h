#pragma once

#include <cstdint>
#include <memory>

namespace predgen {

/// A module of a layer as Hugging Face ("mlp.up_proj" of "model.layers.3.mlp.up_proj") and
/// llama.cpp ("ffn_up" of "blk.3.ffn_up") name it. Both null: a layer has none.
struct ModuleName {
  const char* hugging_face = nullptr;
  const char* gguf = nullptr;

  explicit operator bool() const { return hugging_face != nullptr; }
};

/// Whether queries and keys are normed, head by head or over the width of all heads.
enum class QkNorm { kNone, kHead, kWidth };

/// What a layer's attention computes, apart from the sizes of its heads (parts/attention.h).
struct AttentionSpec {
  QkNorm qk_norm = QkNorm::kNone;
  bool qkv_bias = false, o_bias = false;
  double query_scalar = 0.0;  // scores are divided by its square root; 0: head size
  double softcap = 0.0;       // scores become cap * tanh(score / cap); 0: unchanged
  int64_t window = 0;         // positions that a query sees, its own included; 0: all
  int64_t rope = 0;           // index in ModelConfig::ropes
};

/// The activation that a feed-forward part applies to its gate before multiplying.
enum class Activation { kSilu, kGeluTanh };

/// What a layer's gated MLP computes (parts/feed_forward.h).
struct FeedForwardSpec {
  Activation activation = Activation::kSilu;
  bool bias = false;
};

/// A layer's RMSNorms over the hidden size, in the order of the reference's state dict.
struct LayerNorms {
  ModuleName before_attention{}, after_attention{}, before_mlp{}, after_mlp{};
};

class RecurrentSpec;

/// The parts of one layer; by default Llama's. Set by families/. LibTorch's operators compute all
/// of it; other ways to run a pass refuse what they lack.
struct LayerSpec {
  AttentionSpec attention{};
  std::shared_ptr<const RecurrentSpec> recurrence{};  // in place of attention; null: none
  FeedForwardSpec feed_forward{};
  bool norm_before = true;  // norms of the inputs of attention and MLP,
  bool norm_after = false;  // and of their outputs, before the residual add

  LayerNorms norms() const;
};

}  // namespace predgen
