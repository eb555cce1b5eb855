#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/json.h"

namespace predgen {

/// Sizes and constants of a decoder-only transformer, from a Hugging Face config.json as written
/// by transformers 4 (rope_theta, torch_dtype) or 5 (rope_parameters, dtype).
struct ModelConfig {
  std::string architecture;  // "Qwen2ForCausalLM"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;
  double rope_theta = 10000.0;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;  // Qwen2: true
  std::string dtype = "float32";  // of the stored weights: "float32" or "bfloat16"

  /// UserError for an unknown architecture (lists the known ones), a missing or impossible field,
  /// or an option that this program does not honour, by name.
  static ModelConfig from_json(const Json& json, const std::string& where);
  static ModelConfig load(const std::filesystem::path& folder);
  /// What from_json reads, in transformers 4 spelling (which transformers 5 reads too).
  Json to_json() const;

  int64_t num_parameters() const;
};

}  // namespace predgen
