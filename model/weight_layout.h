#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace predgen {

struct ModelConfig;

// The two matrices outside the layers. Tied: the embedding is also the head.
constexpr const char* kEmbeddingName = "model.embed_tokens.weight";
constexpr const char* kHeadName = "lm_head.weight";
constexpr const char* kGgufHeadName = "output.weight";

/// Where a weight is a part of a larger tensor.
struct StackedPlace {
  std::string name{};            // of that tensor, in a folder or a GGUF file
  std::vector<int64_t> shape{};  // of that tensor, [count,rows,columns] or [count,rows]
  int64_t index = 0;             // in its first dimension
  int64_t first = 0, step = 1;   // its rows there: first, first + step, ..
  bool is_transposed = false;    // there its rows are columns, unless it is in few bits
};

/// Heads that transformers stores group after group, and llama.cpp by turns: the first of each
/// group, then the second of each.
struct GroupedHeads {
  int64_t groups = 1, heads = 1;  // of a group
  int64_t size = 1;               // rows of a head, or columns
  int64_t first = 0;              // row of the first head
  bool in_columns = false;
};

/// A tensor of the checkpoint.
struct WeightSpec {
  std::string name;  // Hugging Face's
  std::vector<int64_t> shape;
  std::string gguf{};       // llama.cpp's name
  bool is_norm = false;     // ModelConfig::norm_offset is added to it
  bool is_wide = false;     // float32 in every precision
  int64_t input = 0;        // of a layer's linear: those that have the same input have one number
  int64_t rotary_rows = 0;  // per head, if rotary positions turn what its rows compute; else 0
  // The tensors that it may be in with others. A GGUF file has it in the one named `gguf`, if that
  // is among them; a folder is written with the one named `folder`, or with `name` if that is
  // empty.
  std::vector<StackedPlace> stacked{};
  std::string folder{};
  double share = 1.0;      // of all tokens that it is read for, on average: less for experts
  bool is_factor = false;  // begins at 1, as norms do, but nothing is added to it
  bool is_buffer = false;  // transformers does not train it
  bool is_log = false;     // llama.cpp stores -exp(x)
  std::optional<GroupedHeads> grouped{};
};
/// The total over all of them.
int64_t num_values(const std::vector<WeightSpec>& weights);

/// Every tensor that a model of this configuration has, in the order of the reference's state dict,
/// which decides the shards. Tied embeddings appear once.
std::vector<WeightSpec> weight_layout(const ModelConfig& config);

/// What ModelConfig::mtp() has of its own: weight_layout() of it but for embeddings and head. Empty
/// if there is none.
std::vector<WeightSpec> mtp_weights(const ModelConfig& config);
/// A weight or module of the layers of ModelConfig::mtp() as a checkpoint calls it: "mtp.layers.0."
/// for "model.layers.0.".
std::string mtp_name(std::string name);

}  // namespace predgen
