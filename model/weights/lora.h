#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/transformer.h"

namespace predgen {

inline constexpr const char* kAllLinear = "all-linear";

struct LoraConfig {
  int64_t rank = 16;
  double alpha = 32.0;
  double dropout = 0.0;
  bool use_rslora = false;  // scales by alpha / sqrt(rank), not alpha / rank
  /// Ends of names; kAllLinear alone: all linear layers except the head.
  std::vector<std::string> target_modules{kAllLinear};
  std::string base_model;  // base_model_name_or_path
  /// Layers with another rank or alpha, by the end of their name or a pattern of it (NamePattern).
  /// The first key that matches a layer counts.
  std::vector<std::pair<std::string, int64_t>> rank_pattern{};
  std::vector<std::pair<std::string, double>> alpha_pattern{};
  TokenIds mask_tokens{};  // see Transformer::set_mask_tokens(); empty: none
};

/// With the names of this model's linear layers in place of kAllLinear.
LoraConfig with_targets_of(const Transformer& model, LoraConfig config);

/// Adds trainable float32 A (uniform +-1/sqrt(in), from the seed) and B = 0 to every linear layer
/// whose name is or ends in ".<target>". UserError for a target that matches nothing and for a
/// pattern key that applies to no layer.
void attach_lora(Transformer& model, const LoraConfig& config, uint64_t seed);

/// A and B by PEFT tensor name, "base_model.model.<module>.lora_A.weight"; shared storage.
std::map<std::string, at::Tensor> named_adapter_weights(const Transformer& model);

}  // namespace predgen
