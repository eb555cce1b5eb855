#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "text/token_ids.h"

namespace predgen {

/// What a Hugging Face folder says about generation.
struct GenerationDefaults {
  TokenIds stop_tokens;  // eos_token_id of generation_config.json, else of config.json
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k;
  std::string not_honoured;  // the first field that would change sampling in another way, or empty
};

/// Needs no tokenizer files. UserError for a field of the wrong type.
GenerationDefaults read_generation_defaults(const std::filesystem::path& folder);

}  // namespace predgen
