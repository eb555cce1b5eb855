#pragma once

#include <span>
#include <string_view>

#include "core/json.h"
#include "model/model_config.h"
#include "tensors/gguf_metadata.h"
#include "tensors/gguf_writer.h"

namespace predgen {

// Architectures of which some layers keep a state instead of rows: qwen35 and lfm2, and both with
// experts.
inline bool is_gguf_qwen35(std::string_view architecture) {
  return architecture == "qwen35" || architecture == "qwen35moe";
}
inline bool is_gguf_lfm2(std::string_view architecture) {
  return architecture == "lfm2" || architecture == "lfm2moe";
}

/// The keys that only they have, below the architecture's name; empty for the others.
std::span<const char* const> gguf_hybrid_keys(std::string_view architecture);
/// Replaces and adds in a config.json what these keys mean. UserError names one that is missing.
void read_gguf_hybrid(const GgufMetadata& metadata, std::string_view architecture, Json& json);
/// The inverse. UserError for layers in another order than llama.cpp's.
void write_gguf_hybrid(const ModelConfig& config, std::string_view architecture,
                       GgufContents& contents);

}  // namespace predgen
