#pragma once

#include <ATen/ATen.h>

#include <span>

#include "model/decoder_layer.h"
#include "model/model_config.h"

namespace predgen {

/// The parts of a Transformer.
struct TransformerParts {
  const ModelConfig& config;
  const at::Tensor& embedding;  // [V,E]
  std::span<const DecoderLayer> layers;
  const at::Tensor& final_norm;           // [E]
  const Linear& head;                     // [V,E]
  const at::Tensor& inverse_frequencies;  // float32 [D/2]
};

}  // namespace predgen
