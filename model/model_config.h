#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "model/block_spec.h"

namespace predgen {

/// Sizes and constants of a decoder-only transformer, from a Hugging Face config.json as written
/// by transformers 4 (rope_theta, torch_dtype) or 5 (rope_parameters, dtype). What a family adds
/// is read in families/.
struct ModelConfig {
  std::string architecture;  // "Qwen2ForCausalLM"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;  // max_position_embeddings
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  BlockSpec block;
  std::string dtype = "float32";  // of the stored weights: "float32" or "bfloat16"

  /// UserError for an unknown architecture (lists the known ones), a missing or impossible field,
  /// or an option that this program does not support, by name.
  static ModelConfig from_json(const Json& json, const std::string& where);
  static ModelConfig load(const std::filesystem::path& folder);
  /// What from_json reads, in transformers 4 spelling (which transformers 5 reads too).
  Json to_json() const;

  int64_t context_length() const { return block.rope.context_length(max_positions); }
  int64_t num_parameters() const;
};

// The two matrices outside the layers. Tied: the embedding is also the head.
constexpr const char* kEmbeddingName = "model.embed_tokens.weight";
constexpr const char* kHeadName = "lm_head.weight";

/// A tensor of the checkpoint.
struct WeightSpec {
  std::string name;  // Hugging Face's
  std::vector<int64_t> shape;
};
/// The total over all of them.
int64_t num_values(const std::vector<WeightSpec>& weights);

/// Every tensor that a model of this configuration has, in the order of the reference's state dict,
/// which decides the shards. Tied embeddings appear once.
std::vector<WeightSpec> weight_layout(const ModelConfig& config);

}  // namespace predgen
