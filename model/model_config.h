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
#include "model/weight_layout.h"

namespace predgen {

/// What "quantization_config" of a config.json says that matrices are stored in: "nf4" or "fp4" (of
/// bitsandbytes), or "mxfp4"; empty if there is none. UserError for any other.
std::string stored_type(const ConfigFields& fields);

// Far above any model, so that products of sizes cannot overflow.
constexpr int64_t kMaxLayers = 10'000, kMaxHeadDim = 1 << 16;

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
  /// of the layer whose keys and values it reads.
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

}  // namespace predgen
