#pragma once

#include "core/json.h"
#include "tensors/gguf_file.h"

namespace predgen {

/// The config.json that a GGUF model would have as a Hugging Face folder, for
/// ModelConfig::from_json(): supports the architectures llama (also Mistral and SmolLM2), smollm3,
/// qwen2, qwen3, olmo2 and gemma3. Missing metadata default to what llama.cpp assumes. UserError
/// names the file and what is missing or not supported.
Json read_gguf_config(const GgufFile& file);

}  // namespace predgen
