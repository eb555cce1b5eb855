#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "core/json.h"
#include "model/config_fields.h"

namespace predgen {

struct ModelConfig;

/// kNone, which no checkpoint names: no position embedding.
enum class RopeKind { kDefault, kLinear, kDynamic, kYarn, kLlama3, kProportional, kNone };

/// Rotary position embeddings (Su et al. 2021) and how they are stretched to longer contexts, as
/// transformers' modeling_rope_utils.py computes them.
struct RopeConfig {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000.0;
  double factor = 1.0;
  int64_t original_positions = 0;        // yarn, llama3
  double low_frequency_factor = 1.0;     // llama3
  double high_frequency_factor = 4.0;    // llama3
  double beta_fast = 32, beta_slow = 1;  // yarn (Peng et al. 2023)
  bool truncate = true;                  // yarn
  double attention_factor = 1.0;         // yarn: cos and sin are multiplied by it
  double proportion = 1.0;               // proportional: of a head's pairs, the first, which turn
  int64_t own_head_dim = 0;              // of the layers that have it; 0: ModelConfig's
  double query_beta = 0.0;               // of query_scale(); 0: queries stay as they are
  double share = 1.0;                    // of a head's values, the first, which turn

  /// From rope_theta and rope_scaling (transformers 4) or rope_parameters (5). UserError for a
  /// missing or impossible field, or one that is not supported, by name. A `usual_share` of 1: the
  /// architecture turns whole heads.
  static RopeConfig read(const ConfigFields& fields, int64_t max_positions,
                         double usual_theta = 10000.0, double usual_share = 1.0);
  /// Adds the fields to `json` in transformers 4 spelling.
  void write(Json& json) const;

  /// Supported context length, from max_position_embeddings. Dynamic scaling begins beyond it and
  /// would rotate cached keys again: such contexts are not offered.
  int64_t context_length(int64_t max_positions) const;
  /// By what a query at this position is multiplied, Llama 4's way: 1 + query_beta * log(1 +
  /// floor(position / original_positions)).
  double query_scale(int64_t position) const;
  /// How many values of a head turn.
  int64_t rotary_dim(int64_t head_dim) const;
  /// Radians per position of each pair that turns, float32 [rotary_dim / 2].
  at::Tensor inverse_frequencies(int64_t whole_head) const;
};

/// RopeConfig::attention_factor of YaRN where nothing else is said; with a weight ("mscale"), what
/// is multiplied or divided by.
double yarn_attention_factor(double factor, double weight = 1.0);

// Shapes: B rows, T tokens, H heads, D head size.

/// Cosines and sines that rotate queries and keys to their positions, [B,1,T,R]: the first R values
/// of a head turn. The sines for the second half of them carry the minus sign of the rotation.
struct Rotation {
  /// `inverse_frequencies`: from RopeConfig, on the device of the positions.
  Rotation(const RopeConfig& rope, const at::Tensor& inverse_frequencies,
           const at::Tensor& positions_BT, at::ScalarType type);
  /// Rotates pairs (x[i], x[i + R/2]), the layout of Hugging Face checkpoints.
  at::Tensor operator()(const at::Tensor& x_BHTD) const;
  /// The same of queries, which are also multiplied by RopeConfig::query_scale().
  at::Tensor of_queries(const at::Tensor& x_BHTD) const;

  at::Tensor cos, signed_sin;
  at::Tensor query_scale;  // [B,1,T,1], undefined without RopeConfig::query_beta
};
/// One for each of ModelConfig::ropes. `inverse_frequencies`: from ModelConfig, on the device of
/// the positions.
std::vector<Rotation> make_rotations(const ModelConfig& config,
                                     const at::Tensor& inverse_frequencies,
                                     const at::Tensor& positions_BT, at::ScalarType type);

}  // namespace predgen
