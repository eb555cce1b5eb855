#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/checkpoint.h"
#include "model/transformer.h"

namespace predgen {

/// Writes a Hugging Face folder: config.json and model.safetensors (sharded at 5 GB with an index,
/// like huggingface_hub), and from `source`, unless it is null, the other files (tokenizer,
/// generation_config.json, licence). `dtype`: "fp32" or "bf16".
void save_model(const Transformer& model, const std::filesystem::path& folder,
                const Checkpoint* source, const std::string& dtype);
/// The same without the weights. The tokenizer comes from `tokenizer` instead, unless that is null.
void save_model_files(const std::filesystem::path& folder, const ModelConfig& config,
                      const Checkpoint* source, const std::string& dtype,
                      const Checkpoint* tokenizer);

}  // namespace predgen
