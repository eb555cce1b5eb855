#pragma once

#include <map>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "core/setting.h"
#include "runtime/generate/sampler.h"
#include "text/token_ids.h"

namespace predgen {

/// What a checkpoint says about generation.
struct GenerationDefaults {
  TokenIds stop_tokens;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k;
  std::string not_honoured;  // the first field that would change sampling in another way, or empty
};

/// What a user says about sampling.
struct AskedSampling {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k;
  std::optional<double> frequency_penalty{}, presence_penalty{};
  std::optional<int64_t> penalty_window{};
  std::map<TokenId, double> logit_bias{};
  uint64_t seed = 0;
};

/// All numbers with a name in every API, and their bounds there; of a flag, choose_sampling() says
/// what is too much.
Settings settings_of(AskedSampling& sampling);

/// nullopt (greedy) unless sampling is asked for; then the defaults fill in the rest. Penalties and
/// biases that are asked for apply to greedy answers, too (temperature 0). UserError for a value
/// out of range.
std::optional<SamplingConfig> choose_sampling(const AskedSampling& asked,
                                              const GenerationDefaults& defaults);

/// UserError for a field of the wrong type.
GenerationDefaults read_generation_defaults(const GenerationSettings& settings);

}  // namespace predgen
