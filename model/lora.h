#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/transformer.h"

namespace predgen {

struct LoraConfig {
  int64_t rank = 16;
  double alpha = 32.0;
  double dropout = 0.0;
  std::vector<std::string> target_modules{"q_proj", "k_proj", "v_proj",   "o_proj",
                                          "gate_proj", "up_proj", "down_proj"};
  std::string base_model;  // base_model_name_or_path
};

/// Adds trainable float32 A (uniform +-1/sqrt(in), from the seed) and B = 0 to every linear layer
/// whose name is or ends in ".<target>". UserError for a target that matches nothing.
void attach_lora(Transformer& model, const LoraConfig& config, uint64_t seed);

/// PEFT folder: adapter_config.json and adapter_model.safetensors, both directions.
/// Loading refuses by name what this program does not honour (DoRA, modules_to_save, bias, ...),
/// adapters that match no module, left-over tensors and wrong shapes.
void save_adapter(const Transformer& model, const LoraConfig& config,
                  const std::filesystem::path& folder);
LoraConfig load_adapter(Transformer& model, const std::filesystem::path& folder);

/// A and B by PEFT tensor name, "base_model.model.<module>.lora_A.weight"; shared storage.
std::map<std::string, at::Tensor> named_adapter_weights(const Transformer& model);

/// W += scaling * B A, computed in float32 and rounded once; the adapters are removed.
void merge_lora(Transformer& model);

}  // namespace predgen
