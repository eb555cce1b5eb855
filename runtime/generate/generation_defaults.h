#pragma once

#include <filesystem>
#include <optional>

#include "model/token_ids.h"

namespace predgen {

/// What a Hugging Face folder says about generation.
struct GenerationDefaults {
  TokenIds stop_tokens;  // eos_token_id of generation_config.json, else of config.json
  std::optional<double> temperature, top_p;
  std::optional<int64_t> top_k;
};

/// Needs no tokenizer files. UserError for a field of the wrong type.
GenerationDefaults read_generation_defaults(const std::filesystem::path& folder);

}  // namespace predgen
