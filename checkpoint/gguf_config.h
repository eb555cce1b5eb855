#pragma once

#include "core/json.h"
#include "tensors/gguf_file.h"

namespace predgen {

/// The config.json that a GGUF model would have as a Hugging Face folder, for
/// ModelConfig::from_json(): supports kGgufArchitectures (gguf_names.h). Missing metadata default
/// to what llama.cpp assumes. UserError names the file and what is missing or not supported.
Json read_gguf_config(const GgufFile& file);

}  // namespace predgen
