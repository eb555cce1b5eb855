#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "model/config_fields.h"
#include "model/layer_spec.h"
#include "model/rope.h"

namespace predgen {

/// What "quantization_config" of a config.json says that matrices are stored in: "nf4" or "fp4" (of
/// bitsandbytes), or "mxfp4"; empty if there is none. UserError for any other.
std::string stored_type(const ConfigFields& fields);

// Far above any model, so that products of sizes cannot overflow.
constexpr int64_t kMaxLayers = 10'000, kMaxHeadDim = 1 << 16;

/// Of a model that guesses what another one says next (Gemma 4's assistants): it gets the other
/// one's embedding of the last token beside that one's hidden state before it, or its own of the
/// guess before, and reads the other one's keys and values (kOfAnotherModel).
struct AssistantSpec {
  int64_t hidden_size = 0;                   // of the other model
  int64_t num_clusters = 0, num_chosen = 0;  // of tokens, and those that get logits; 0: all do
};

/// Sizes and constants of a decoder-only transformer, from a Hugging Face config.json as written
/// by transformers 4 (rope_theta, torch_dtype) or 5 (rope_parameters, dtype). What an architecture
/// adds is read in architectures/.
struct ModelConfig {
  std::string architecture;  // "Qwen2ForCausalLM"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;  // max_position_embeddings
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  std::vector<LayerSpec> layers;
  std::vector<RopeConfig> ropes{RopeConfig{}};  // the layers' (AttentionSpec::rope), at least one
  ModuleName final_norm{"model.norm.weight", "output_norm.weight"};  // whole names
  int64_t layer_input_width = 0;  // of what each layer gets of each token beside the others' output
  double norm_offset = 0.0;       // added to the weight of every norm
  bool norm_scales_wide = false;  // a norm's weight is applied in float32, before rounding
  double logit_softcap = 0.0;     // logits become cap * tanh(logit / cap); 0: unchanged
  double embedding_scale = 1.0;   // rounded to the embeddings' type
  std::string dtype = "float32";  // of the stored weights: "float32" or "bfloat16"
  int64_t num_mtp_layers = 0;     // that a checkpoint may have beside the model (mtp())
  bool reads_hidden = false;      // its layers get MtpInput in place of embeddings
  std::optional<AssistantSpec> assistant;

  /// UserError for an unknown architecture (lists the known ones), a missing or impossible field,
  /// or an option that this program does not support, by name. Of a model that also sees or hears
  /// it takes the "text_config".
  static ModelConfig from_json(const Json& whole, const std::string& where);
  static ModelConfig load(const std::filesystem::path& folder);
  /// What from_json reads, in transformers 4 spelling (which transformers 5 reads too).
  Json to_json() const;

  int64_t num_layers() const { return static_cast<int64_t>(layers.size()); }
  /// Layers that keep rows, and those that keep a state (SequenceState).
  int64_t num_row_layers() const;
  int64_t num_states() const;
  /// Index of a layer among those that keep the same kind of thing; of one that keeps nothing, that
  /// of the layer whose keys and values it reads, in RowsOfAnother if that is another model's.
  int64_t place(int64_t index) const;
  const LayerSpec& layer(int64_t index) const { return layers.at(static_cast<size_t>(index)); }
  /// The most positions that a layer with a window sees; 0: no layer has one.
  int64_t widest_window() const;
  int64_t num_ropes() const { return static_cast<int64_t>(ropes.size()); }
  int64_t head_dim_of(const AttentionSpec& spec) const {
    return spec.head_dim > 0 ? spec.head_dim : head_dim;
  }
  int64_t head_dim_of(const RopeConfig& rope) const {
    return rope.own_head_dim > 0 ? rope.own_head_dim : head_dim;
  }
  int64_t num_kv_heads_of(const AttentionSpec& spec) const {
    return spec.num_kv_heads > 0 ? spec.num_kv_heads : num_kv_heads;
  }
  /// Whether a layer reads another one's keys and values, or has something of the tokens.
  bool has_side_inputs() const;
  /// Radians per position of each pair of a head, float32 [ropes,D / 2], D: the largest head size;
  /// 0 for those that do not turn, and those that smaller heads do not have.
  at::Tensor inverse_frequencies() const;
  /// What a checkpoint may have to guess further tokens with (multi-token prediction), as a model
  /// of its own, which has this one's embeddings and head. None unless it is one layer.
  std::optional<ModelConfig> mtp() const;
  int64_t context_length() const { return ropes.front().context_length(max_positions); }
  int64_t num_parameters() const;
  /// Those that a token is computed with: of experts, as many as are chosen.
  int64_t num_active_parameters() const;
};

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
  bool is_index = false;   // whole numbers
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
