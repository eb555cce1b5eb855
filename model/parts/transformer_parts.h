#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "model/model_config.h"
#include "model/parts/decoder_layer.h"

namespace predgen {

/// The parts of a Transformer.
struct TransformerParts {
  const ModelConfig& config;
  const at::Tensor& embedding;              // [V,E], or [0,E] if
  const QuantizedWeight* packed_embedding;  // is not null
  std::span<const DecoderLayer> layers;
  const LayerInputs* layer_inputs;        // null: none
  const at::Tensor& final_norm;           // [E]
  const Linear& head;                     // [V,E]
  const at::Tensor& inverse_frequencies;  // ModelConfig's
  float embedding_scale;                  // rounded to the embeddings' type
  bool adapter_gated = false;             // applies to masks only
  at::Tensor inputs_TE{};  // float32, of the new tokens in place of embeddings; undefined: none
};

/// The first thing in a model that none of our kernels computes, by its name; empty: there is none.
inline std::string_view beyond_kernels(const ModelConfig& config) {
  for (const LayerSpec& layer : config.layers) {
    if (layer.attention.softcap != 0) return "attention_softcap";
    if (layer.feed_forward.activation == Activation::kClampedSwiglu) return "clamped MLP";
    if (layer.experts.input_scale != layer.experts.beside_mlp) return "such a router";
  }
  return "";
}

/// The same of our kernels for GPUs.
inline std::string_view beyond_gpu_kernels(const ModelConfig& config) {
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec& attention = layer.attention;
    if (layer.recurrence) return layer.recurrence->name();
    if (attention.output_gate) return "gate of attention's output";
    if (attention.head_dim > 0 || attention.num_kv_heads > 0) return "heads by layer";
    if (attention.shares >= 0) return "shared keys and values";
    if (attention.value_is_key) return "values that are keys";
    if (attention.value_norm) return "norm of values";
    if (layer.experts.beside_mlp) return "experts beside an MLP";
    if (layer.layer_input) return "inputs by layer";
    if (layer.output_scale) return "scale of a layer's output";
  }
  for (const RopeConfig& rope : config.ropes) {
    if (rope.share != 1.0) return "heads that turn in part";
  }
  return beyond_kernels(config);
}

/// Whether a norm's weight, if the model has one, has the embedding's device and type.
inline bool is_ready(const at::Tensor& norm, const at::Tensor& embedding) {
  return !norm.defined() || (norm.device() == embedding.device() && norm.is_contiguous() &&
                             norm.scalar_type() == embedding.scalar_type());
}

inline bool are_norms_ready(const DecoderLayer& layer, const at::Tensor& embedding) {
  const auto are_ready = [&](const NormPair& norms) {
    return is_ready(norms.before, embedding) && is_ready(norms.after, embedding);
  };
  return are_ready(layer.attention_norm) && are_ready(layer.mlp_norm) &&
         are_ready(layer.experts_norm) && is_ready(layer.norm_after_mlp_alone, embedding) &&
         (!layer.attention ||
          std::ranges::all_of(layer.attention->norms(),
                              [&](const at::Tensor* norm) { return is_ready(*norm, embedding); }));
}

}  // namespace predgen
