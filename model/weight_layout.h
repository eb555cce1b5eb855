#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace predgen {

struct ModelConfig;

// The two matrices outside the layers. Tied: the embedding is also the head.
constexpr const char* kEmbeddingName = "model.embed_tokens.weight";
constexpr const char* kHeadName = "lm_head.weight";
constexpr const char* kGgufHeadName = "output.weight";

/// A tensor of the checkpoint.
struct WeightSpec {
  std::string name;  // Hugging Face's
  std::vector<int64_t> shape;
  std::string gguf{};       // llama.cpp's name
  bool is_norm = false;     // ModelConfig::norm_offset is added to it
  int64_t input = 0;        // of a layer's linear: those that have the same input have one number
  int64_t rotary_rows = 0;  // per head, if rotary positions turn what its rows compute; else 0
};
/// The total over all of them.
int64_t num_values(const std::vector<WeightSpec>& weights);

/// Every tensor that a model of this configuration has, in the order of the reference's state dict,
/// which decides the shards. Tied embeddings appear once.
std::vector<WeightSpec> weight_layout(const ModelConfig& config);

}  // namespace predgen
